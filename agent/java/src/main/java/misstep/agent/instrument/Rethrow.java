package misstep.agent.instrument;

import java.util.ArrayList;
import java.util.List;
import org.objectweb.asm.Label;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;

/**
 * Adds the handler that pops and rethrows. It covers everything after the push, the pops
 * themselves included: popping twice does no harm, since a pop restores. It is the last entry of
 * the exception table, so all handlers of the method's own go first.
 */
final class Rethrow extends MethodVisitor {
  private final Region region;
  private final String runtime;
  private final List<Label> bounds = new ArrayList<>(); // start, end, start, end, …

  Rethrow(SavedTop next, Region region, String runtime) {
    super(Opcodes.ASM9, next);
    this.region = region;
    this.runtime = runtime;
  }

  void open() {
    bound();
  }

  void close() {
    bound();
  }

  private void bound() {
    Label label = new Label();
    super.visitLabel(label);
    bounds.add(label);
  }

  @Override
  public void visitMaxs(int maxStack, int maxLocals) {
    if (region.instrumented) {
      if (region.pushed) {
        close();
      }
      handler();
    }
    super.visitMaxs(maxStack, maxLocals);
  }

  private void handler() {
    Label handler = new Label();
    for (int i = 0; i < bounds.size(); i += 2) {
      super.visitTryCatchBlock(bounds.get(i), bounds.get(i + 1), handler, null);
    }
    super.visitLabel(handler);
    ((SavedTop) mv).handlerFrame();
    super.visitVarInsn(Opcodes.LLOAD, region.slot); // Throwable → Throwable, long
    // Throwable, long → Throwable
    super.visitMethodInsn(
        Opcodes.INVOKESTATIC, runtime, Runtime.EXIT, Runtime.EXIT_DESCRIPTOR, false);
    super.visitInsn(Opcodes.ATHROW); // Throwable → nothing
  }
}
