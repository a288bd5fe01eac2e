package misstep.agent.instrument;

import org.objectweb.asm.AnnotationVisitor;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;

/** Pushes first thing in any method that is not a constructor. */
final class OrdinaryMethod extends MethodVisitor {
  private final Region region;
  private final PushPop pushPop;
  private final AnnotationRule rule;

  OrdinaryMethod(PushPop next, Region region, AnnotationRule rule) {
    super(Opcodes.ASM9, next);
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
  public void visitCode() {
    super.visitCode();
    if (!region.excluded) {
      pushPop.push();
    }
  }
}
