package misstep.agent.instrument;

import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;

/** Emits the push on request, and the pop before each return. */
final class PushPop extends MethodVisitor {
  private final Region region;
  private final Rethrow rethrow;
  private final String runtime;
  private final int id;

  PushPop(Rethrow next, Region region, String runtime, int id) {
    super(Opcodes.ASM9, next);
    this.region = region;
    this.rethrow = next;
    this.runtime = runtime;
    this.id = id;
  }

  /** Emits {@code saved = MisstepShadow.enter(id)}. */
  void push() {
    constant(id); // … → …, int
    // …, int → …, long
    super.visitMethodInsn(
        Opcodes.INVOKESTATIC, runtime, Runtime.ENTER, Runtime.ENTER_DESCRIPTOR, false);
    super.visitVarInsn(Opcodes.LSTORE, region.slot); // …, long → …
    region.instrumented = true;
    resume();
  }

  /** The instructions that follow run only after the push. */
  void resume() {
    region.pushed = true;
    rethrow.open();
  }

  /** The instructions that follow run before the push. */
  void suspend() {
    region.pushed = false;
    rethrow.close();
  }

  private void constant(int value) {
    if (value >= Byte.MIN_VALUE && value <= Byte.MAX_VALUE) {
      super.visitIntInsn(Opcodes.BIPUSH, value);
    } else if (value >= Short.MIN_VALUE && value <= Short.MAX_VALUE) {
      super.visitIntInsn(Opcodes.SIPUSH, value);
    } else {
      super.visitLdcInsn(value);
    }
  }

  @Override
  public void visitInsn(int opcode) {
    if (region.pushed && opcode >= Opcodes.IRETURN && opcode <= Opcodes.RETURN) {
      super.visitVarInsn(Opcodes.LLOAD, region.slot); // …, result → …, result, long
      // …, result, long → …, result
      super.visitMethodInsn(
          Opcodes.INVOKESTATIC, runtime, Runtime.EXIT, Runtime.EXIT_DESCRIPTOR, false);
    }
    super.visitInsn(opcode);
  }

  @Override
  public void visitMaxs(int maxStack, int maxLocals) {
    if (!region.instrumented) {
      super.visitMaxs(maxStack, maxLocals);
      return;
    }
    // A long above whatever is on the stack at the push or a return; in the handler the exception
    // and a long.
    super.visitMaxs(Math.max(maxStack + 2, 3), Math.max(maxLocals, region.slot) + 2);
  }
}
