package misstep.agent.instrument;

import java.util.BitSet;
import org.objectweb.asm.AnnotationVisitor;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.tree.AbstractInsnNode;
import org.objectweb.asm.tree.InsnList;
import org.objectweb.asm.tree.MethodNode;

/**
 * Pushes in a constructor right after its call of super() or this(): before it the object is
 * uninitialized, and a handler there would not verify. The whole method is kept until that place is
 * known, then replayed.
 */
final class Constructor extends MethodNode {
  private final String owner;
  private final Region region;
  private final PushPop pushPop;
  private final AnnotationRule rule;

  Constructor(
      int access,
      String name,
      String descriptor,
      String signature,
      String[] exceptions,
      String owner,
      Region region,
      PushPop next,
      AnnotationRule rule) {
    super(Opcodes.ASM9, access, name, descriptor, signature, exceptions);
    this.owner = owner;
    this.region = region;
    this.pushPop = next;
    this.rule = rule;
  }

  @Override
  public AnnotationVisitor visitAnnotation(String descriptor, boolean visible) {
    if (rule.forbids(descriptor)) {
      region.excluded = true;
    }
    return super.visitAnnotation(descriptor, visible);
  }

  @Override
  public void visitEnd() {
    super.visitEnd();
    if (!region.excluded) {
      try {
        mark(new InitCall(owner, this));
      } catch (InitCall.Undetermined e) {
        region.why = e.getMessage();
      }
    }
    accept(pushPop);
  }

  /** Puts marks into the instructions at which, in the replay, the region begins and ends. */
  private void mark(InitCall found) {
    BitSet after = found.after();
    boolean inside = false;
    AbstractInsnNode[] nodes = instructions.toArray();
    for (int i = 0; i < nodes.length; i++) {
      if (i == found.index()) {
        instructions.insert(nodes[i], new Mark(Mark.PUSH));
        inside = true;
        continue;
      }
      if (nodes[i].getOpcode() < 0) {
        continue; // labels, lines and frames belong to the next instruction
      }
      if (after.get(i) != inside) {
        inside = !inside;
        insertBeforeLabels(nodes, i, new Mark(inside ? Mark.RESUME : Mark.SUSPEND));
      }
    }
  }

  private void insertBeforeLabels(AbstractInsnNode[] nodes, int i, Mark mark) {
    int first = i;
    while (nodes[first - 1].getOpcode() < 0) {
      first--;
    }
    InsnList list = instructions;
    list.insertBefore(nodes[first], mark);
  }

  /** A place in the instruction list that emits nothing by itself. */
  private final class Mark extends AbstractInsnNode {
    static final int PUSH = 1;
    static final int RESUME = 2;
    static final int SUSPEND = 3;

    private final int what;

    Mark(int what) {
      super(-1);
      this.what = what;
    }

    @Override
    public int getType() {
      return LABEL; // of no consequence: asked only by code that analyses instructions
    }

    @Override
    public void accept(MethodVisitor visitor) {
      switch (what) {
        case PUSH:
          pushPop.push();
          break;
        case RESUME:
          pushPop.resume();
          break;
        default:
          pushPop.suspend();
      }
    }

    @Override
    public AbstractInsnNode clone(
        java.util.Map<org.objectweb.asm.tree.LabelNode, org.objectweb.asm.tree.LabelNode>
            clonedLabels) {
      return new Mark(what);
    }
  }
}
