package misstep.agent.instrument;

import org.objectweb.asm.Opcodes;

/** Lengths of instructions in a class file (JVMS 6.5). */
final class Bytecodes {
  static final int WIDE = 196;
  private static final int GOTO_W = 200;
  private static final int JSR_W = 201;

  private Bytecodes() {}

  /**
   * The length in bytes of the instruction at an offset of the file.
   *
   * @param codeStart offset of the method's first instruction, from which switches are aligned
   */
  static int length(byte[] file, int codeStart, int at) {
    int opcode = file[at] & 0xff;
    int padded = at + 4 - ((at - codeStart) & 3);
    switch (opcode) {
      case Opcodes.TABLESWITCH:
        int low = ClassFile.u4(file, padded + 4);
        int high = ClassFile.u4(file, padded + 8);
        return padded + 12 + 4 * (high - low + 1) - at;
      case Opcodes.LOOKUPSWITCH:
        return padded + 8 + 8 * ClassFile.u4(file, padded + 4) - at;
      case WIDE:
        return (file[at + 1] & 0xff) == Opcodes.IINC ? 6 : 4;
      case Opcodes.BIPUSH:
      case Opcodes.LDC:
      case Opcodes.RET:
      case Opcodes.NEWARRAY:
        return 2;
      case Opcodes.SIPUSH:
      case 19: // ldc_w
      case 20: // ldc2_w
      case Opcodes.IINC:
      case Opcodes.IFNULL:
      case Opcodes.IFNONNULL:
      case Opcodes.NEW:
      case Opcodes.ANEWARRAY:
      case Opcodes.CHECKCAST:
      case Opcodes.INSTANCEOF:
        return 3;
      case Opcodes.MULTIANEWARRAY:
        return 4;
      case Opcodes.INVOKEINTERFACE:
      case Opcodes.INVOKEDYNAMIC:
      case GOTO_W:
      case JSR_W:
        return 5;
      default:
        if (opcode >= Opcodes.ILOAD && opcode <= Opcodes.ALOAD
            || opcode >= Opcodes.ISTORE && opcode <= Opcodes.ASTORE) {
          return 2;
        }
        if (opcode >= Opcodes.IFEQ && opcode <= Opcodes.JSR
            || opcode >= Opcodes.GETSTATIC && opcode <= Opcodes.INVOKESTATIC) {
          return 3;
        }
        return 1;
    }
  }
}
