package misstep.agent.instrument;

import org.objectweb.asm.Opcodes;

/**
 * Leaves and forwarders: methods that loop nowhere and have one call at most (JVMS 6.5). What such
 * a method does takes less time than a push and a pop.
 */
final class Leaves {
  private static final int GOTO_W = 200;
  private static final int JSR_W = 201;

  private Leaves() {}

  /** Whether a method of a class file has one call at most, and no instruction that jumps back. */
  static boolean isLeafOrForwarder(byte[] file, ClassFile.Method method) {
    int calls = 0;
    int end = method.codeStart + method.codeLength;
    int at = method.codeStart;
    while (at < end) {
      int length = Bytecodes.length(file, method.codeStart, at);
      calls += isCall(file[at] & 0xff) ? 1 : 0;
      if (calls > 1 || jumpsBack(file, method.codeStart, at, length)) {
        return false;
      }
      at += length;
    }
    return true;
  }

  private static boolean isCall(int opcode) {
    return opcode >= Opcodes.INVOKEVIRTUAL && opcode <= Opcodes.INVOKEDYNAMIC;
  }

  /** A subroutine's return counts as well: where it goes the instruction does not say. */
  private static boolean jumpsBack(byte[] file, int codeStart, int at, int length) {
    int opcode = file[at] & 0xff;
    int padded = at + 4 - ((at - codeStart) & 3);
    switch (opcode) {
      case Opcodes.TABLESWITCH:
        return anyBack(file, padded, padded + 12, 4, at + length);
      case Opcodes.LOOKUPSWITCH:
        return anyBack(file, padded, padded + 12, 8, at + length);
      case GOTO_W:
        return ClassFile.u4(file, at + 1) <= 0;
      case Opcodes.IFNULL:
      case Opcodes.IFNONNULL:
        return (short) ClassFile.u2(file, at + 1) <= 0;
      case JSR_W:
      case Opcodes.JSR:
      case Opcodes.RET:
        return true;
      case Bytecodes.WIDE:
        return (file[at + 1] & 0xff) == Opcodes.RET;
      default:
        return opcode >= Opcodes.IFEQ
            && opcode < Opcodes.JSR
            && (short) ClassFile.u2(file, at + 1) <= 0;
    }
  }

  /** Whether a switch jumps back: its default, or one of the cases, each so many bytes apart. */
  private static boolean anyBack(byte[] file, int byDefault, int first, int step, int end) {
    for (int at = first; at < end; at += step) {
      if (ClassFile.u4(file, at) <= 0) {
        return true;
      }
    }
    return ClassFile.u4(file, byDefault) <= 0;
  }
}
