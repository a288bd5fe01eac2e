package misstep.agent.instrument;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.Label;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.tree.ClassNode;
import org.objectweb.asm.tree.MethodNode;

/** What is a leaf or a forwarder, against what ASM's visitors see of every class of java.base. */
class LeavesTest {
  @Test
  void agreesWithVisitorsOnRealClasses() throws IOException {
    int[] count = new int[2];
    for (Map.Entry<String, byte[]> file : ClassFiles.ofModule("java.base").entrySet()) {
      ClassReader reader = new ClassReader(file.getValue());
      Map<String, Boolean> told = new TreeMap<>();
      for (ClassFile.Method m : ClassFile.methods(reader)) {
        told.put(m.key(), Leaves.isLeafOrForwarder(file.getValue(), m));
      }
      Map<String, Boolean> seen = new TreeMap<>();
      ClassNode node = new ClassNode();
      reader.accept(node, ClassReader.SKIP_DEBUG | ClassReader.SKIP_FRAMES);
      for (MethodNode m : node.methods) {
        if ((m.access & (Opcodes.ACC_NATIVE | Opcodes.ACC_ABSTRACT)) == 0) {
          Judge judge = new Judge();
          m.accept(judge);
          seen.put(m.name + m.desc, judge.isLeafOrForwarder());
        }
      }
      assertEquals(seen, told, file.getKey());
      seen.values().forEach(small -> count[small ? 1 : 0]++);
    }
    assertTrue(
        count[0] > 1000 && count[1] > 1000,
        count[0] + " others, " + count[1] + " leaves and forwarders");
  }

  @Test
  void areLeftOutWhereTheChoiceSaysSo() throws IOException {
    byte[] file = ClassFiles.ofModule("java.base").get("java/lang/Integer");
    Set<String> all = instrumented(file, true);
    Set<String> calling = instrumented(file, false);
    assertTrue(all.contains("intValue()I") && !calling.contains("intValue()I"), calling.toString());
    String forwarder = "toString()Ljava/lang/String;";
    assertTrue(all.contains(forwarder) && !calling.contains(forwarder), calling.toString());
    String twoCalls = "getInteger(Ljava/lang/String;I)Ljava/lang/Integer;";
    assertTrue(calling.contains(twoCalls), calling.toString());
    assertTrue(calling.contains("parseInt(Ljava/lang/String;I)I"), calling.toString());
    assertTrue(all.containsAll(calling));
  }

  private static Set<String> instrumented(byte[] file, boolean leaves) {
    Instrumenter.Choice choice =
        new Instrumenter.Choice() {
          @Override
          public boolean chooses(String className, String name, String descriptor) {
            return true;
          }

          @Override
          public boolean leaves() {
            return leaves;
          }
        };
    Set<String> keys = new TreeSet<>();
    new Instrumenter("misstep/Nowhere")
        .instrument(file, choice, d -> false, n -> 1, (c, m, why) -> {})
        .methods
        .forEach(m -> keys.add(m.key));
    return keys;
  }

  /** Decides by labels rather than by offsets. */
  private static final class Judge extends MethodVisitor {
    private final Set<Label> behind = new java.util.HashSet<>();
    private boolean loops;
    private int calls;

    Judge() {
      super(Opcodes.ASM9);
    }

    boolean isLeafOrForwarder() {
      return !loops && calls <= 1;
    }

    private void jump(Label... targets) {
      for (Label target : targets) {
        loops |= behind.contains(target);
      }
    }

    @Override
    public void visitLabel(Label label) {
      behind.add(label);
    }

    @Override
    public void visitJumpInsn(int opcode, Label target) {
      loops |= opcode == Opcodes.JSR;
      jump(target);
    }

    @Override
    public void visitVarInsn(int opcode, int variable) {
      loops |= opcode == Opcodes.RET;
    }

    @Override
    public void visitTableSwitchInsn(int low, int high, Label byDefault, Label... targets) {
      jump(byDefault);
      jump(targets);
    }

    @Override
    public void visitLookupSwitchInsn(Label byDefault, int[] keys, Label[] targets) {
      jump(byDefault);
      jump(targets);
    }

    @Override
    public void visitMethodInsn(
        int opcode, String owner, String name, String descriptor, boolean isInterface) {
      calls++;
    }

    @Override
    public void visitInvokeDynamicInsn(
        String name, String descriptor, org.objectweb.asm.Handle bootstrap, Object... arguments) {
      calls++;
    }
  }
}
