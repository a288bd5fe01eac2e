package misstep.agent.instrument;

import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;

/**
 * Puts the saved top's local into the stack map frames of code that runs after the push. No frame
 * is computed: the original ones hold, with one more local.
 */
final class SavedTop extends MethodVisitor {
  private static final Object[] THROWN = {"java/lang/Throwable"};

  private final Region region;
  private final boolean frames;

  /**
   * @param frames whether the class's version has stack map frames (50 and later); an older class's
   *     are dropped, they mean nothing to a JVM
   */
  SavedTop(MethodVisitor next, Region region, boolean frames) {
    super(Opcodes.ASM9, next);
    this.region = region;
    this.frames = frames;
  }

  @Override
  public void visitFrame(int type, int numLocal, Object[] local, int numStack, Object[] stack) {
    if (!frames) {
      return;
    }
    if (type != Opcodes.F_NEW) {
      throw new IllegalStateException("frames must be read expanded");
    }
    if (!region.pushed) {
      super.visitFrame(type, numLocal, local, numStack, stack);
      return;
    }
    int size = 0;
    for (int i = 0; i < numLocal; i++) {
      size += local[i] == Opcodes.LONG || local[i] == Opcodes.DOUBLE ? 2 : 1;
    }
    int count = numLocal + region.slot - size + 1;
    Object[] more = new Object[count];
    System.arraycopy(local, 0, more, 0, numLocal);
    for (int i = numLocal; i < count - 1; i++) {
      more[i] = Opcodes.TOP;
    }
    more[count - 1] = Opcodes.LONG;
    super.visitFrame(type, count, more, numStack, stack);
  }

  /** The frame at the handler: of the locals only the saved top, on the stack the exception. */
  void handlerFrame() {
    if (!frames) {
      return;
    }
    Object[] locals = new Object[region.slot + 1];
    for (int i = 0; i < region.slot; i++) {
      locals[i] = Opcodes.TOP;
    }
    locals[region.slot] = Opcodes.LONG;
    super.visitFrame(Opcodes.F_NEW, locals.length, locals, 1, THROWN);
  }
}
