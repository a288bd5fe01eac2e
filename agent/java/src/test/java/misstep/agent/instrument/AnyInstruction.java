package misstep.agent.instrument;

import org.objectweb.asm.Handle;
import org.objectweb.asm.Label;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;

/** Hears of every instruction through one method. */
abstract class AnyInstruction extends MethodVisitor {
  AnyInstruction() {
    super(Opcodes.ASM9);
  }

  /**
   * Called for each instruction.
   *
   * @param operand the constant, or "owner.name" of a method, or null
   */
  abstract void any(int opcode, Object operand);

  @Override
  public void visitInsn(int opcode) {
    any(opcode, null);
  }

  @Override
  public void visitIntInsn(int opcode, int operand) {
    any(opcode, operand);
  }

  @Override
  public void visitVarInsn(int opcode, int index) {
    any(opcode, null);
  }

  @Override
  public void visitTypeInsn(int opcode, String type) {
    any(opcode, null);
  }

  @Override
  public void visitFieldInsn(int opcode, String owner, String name, String descriptor) {
    any(opcode, null);
  }

  @Override
  public void visitMethodInsn(int opcode, String owner, String name, String desc, boolean itf) {
    any(opcode, owner + "." + name);
  }

  @Override
  public void visitInvokeDynamicInsn(String name, String desc, Handle handle, Object... args) {
    any(Opcodes.INVOKEDYNAMIC, null);
  }

  @Override
  public void visitJumpInsn(int opcode, Label label) {
    any(opcode, null);
  }

  @Override
  public void visitLdcInsn(Object value) {
    any(Opcodes.LDC, value);
  }

  @Override
  public void visitIincInsn(int index, int increment) {
    any(Opcodes.IINC, null);
  }

  @Override
  public void visitTableSwitchInsn(int min, int max, Label dflt, Label... labels) {
    any(Opcodes.TABLESWITCH, null);
  }

  @Override
  public void visitLookupSwitchInsn(Label dflt, int[] keys, Label[] labels) {
    any(Opcodes.LOOKUPSWITCH, null);
  }

  @Override
  public void visitMultiANewArrayInsn(String descriptor, int dimensions) {
    any(Opcodes.MULTIANEWARRAY, null);
  }
}
