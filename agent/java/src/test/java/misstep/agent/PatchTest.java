package misstep.agent;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.commons.ClassRemapper;
import org.objectweb.asm.commons.Remapper;
import org.objectweb.asm.tree.ClassNode;
import org.objectweb.asm.tree.FieldNode;
import org.objectweb.asm.tree.MethodInsnNode;
import org.objectweb.asm.tree.MethodNode;

class PatchTest {
  @Test
  void threadGetsTheFieldAndKeepsTheRest() throws IOException {
    byte[] original = classFile("java/lang/Thread");
    byte[] patched = Patch.patchedThread(original);
    assertArrayEquals(patched, Patch.patchedThread(original));
    ClassNode before = node(original);
    ClassNode after = node(patched);
    FieldNode added = after.fields.remove(after.fields.size() - 1);
    assertEquals("misstepShadow", added.name);
    assertEquals("J", added.desc);
    assertEquals(Opcodes.ACC_PUBLIC | Opcodes.ACC_TRANSIENT | Opcodes.ACC_SYNTHETIC, added.access);
    assertArrayEquals(bytes(before), bytes(after));
  }

  @Test
  void patchedThreadIsRefused() throws IOException {
    byte[] patched = Patch.patchedThread(classFile("java/lang/Thread"));
    assertThrows(IllegalArgumentException.class, () -> Patch.patchedThread(patched));
  }

  @Test
  void virtualThreadNotesWhatIsMountedRightBeforeTheCurrentThreadChanges() {
    for (String name : List.of("mount", "unmount")) {
      MethodNode method = method(node(Patch.patchedVirtualThread(virtualThread())), name);
      List<String> calls = new ArrayList<>();
      method.instructions.forEach(
          i -> {
            if (i instanceof MethodInsnNode) {
              calls.add(((MethodInsnNode) i).owner + "." + ((MethodInsnNode) i).name);
            }
          });
      List<String> expected =
          List.of("java/lang/MisstepShadow." + name, "java/lang/Thread.setCurrentThread");
      assertEquals(expected, calls);
      assertEquals(4, method.maxStack);
    }
    ClassNode patched = node(Patch.patchedVirtualThread(virtualThread()));
    assertEquals("misstepMounts", patched.fields.get(0).name);
    // What switches without mounting stays as it is, and so does everything else.
    String other = "switchToCarrierThread";
    assertEquals(
        method(node(virtualThread()), other).instructions.size(),
        method(node(Patch.patchedVirtualThread(virtualThread())), other).instructions.size());
  }

  @Test
  void runtimeOfJdk17UsesTheInternalUnsafe() throws IOException {
    ClassNode shadow = shadow(thread(Opcodes.V17, false));
    assertEquals("java/lang/MisstepShadow", shadow.name);
    assertTrue(mentions(shadow).contains("jdk/internal/misc/Unsafe"));
    assertFalse(mentions(shadow).contains("jdk/internal/vm/Continuation"));
    assertNull(method(shadow, "enter").visibleAnnotations, "C1 is not to inline it");
  }

  @Test
  void runtimeOfJdk21KnowsCarriers() throws IOException {
    ClassNode shadow = shadow(thread(Opcodes.V21, true));
    assertTrue(mentions(shadow).contains("java/lang/BaseVirtualThread"));
    assertTrue(mentions(shadow).contains("jdk/internal/vm/Continuation"));
  }

  @Test
  void runtimeOfJdk8UsesSunMiscUnsafe() throws IOException {
    ClassNode shadow = shadow(thread(Opcodes.V1_8, false));
    assertTrue(mentions(shadow).contains("sun/misc/Unsafe"));
    assertFalse(mentions(shadow).contains("jdk/internal/misc/Unsafe"));
    assertNull(method(shadow, "exit").visibleAnnotations, "C1 is not to inline it");
  }

  @Test
  void runtimeCanBeLoadedByTheOldestJdk() throws IOException {
    assertEquals(Opcodes.V1_8, shadow(thread(Opcodes.V17, false)).version);
  }

  @Test
  void noStandInIsLeft() throws IOException {
    for (byte[] thread : List.of(thread(Opcodes.V1_8, false), thread(Opcodes.V21, true))) {
      for (String name : mentions(shadow(thread))) {
        assertFalse(name.startsWith("misstep/"), name);
      }
    }
  }

  /** A Thread of some JDK, as far as the runtime's making looks at it. */
  private static byte[] thread(int version, boolean carriers) {
    ClassWriter writer = new ClassWriter(0);
    writer.visit(version, Opcodes.ACC_PUBLIC, "java/lang/Thread", null, "java/lang/Object", null);
    if (carriers) {
      String descriptor = "()Ljdk/internal/vm/Continuation;";
      writer.visitMethod(Opcodes.ACC_NATIVE, "getContinuation", descriptor, null, null).visitEnd();
    }
    writer.visitEnd();
    return writer.toByteArray();
  }

  /** A VirtualThread of some JDK, as far as the patch looks at it. */
  private static byte[] virtualThread() {
    ClassWriter writer = new ClassWriter(0);
    String owner = "java/lang/VirtualThread";
    writer.visit(Opcodes.V21, Opcodes.ACC_FINAL, owner, null, "java/lang/BaseVirtualThread", null);
    for (String name : List.of("mount", "unmount", "switchToCarrierThread")) {
      MethodVisitor method = writer.visitMethod(Opcodes.ACC_PRIVATE, name, "()V", null, null);
      method.visitCode();
      method.visitVarInsn(Opcodes.ALOAD, 0); // → this
      method.visitVarInsn(Opcodes.ALOAD, 0); // this → this, this
      String descriptor = "(Ljava/lang/Thread;)V";
      method.visitMethodInsn(
          Opcodes.INVOKEVIRTUAL, "java/lang/Thread", "setCurrentThread", descriptor, false);
      method.visitInsn(Opcodes.RETURN);
      method.visitMaxs(2, 1);
      method.visitEnd();
    }
    writer.visitEnd();
    return writer.toByteArray();
  }

  private static ClassNode shadow(byte[] thread) throws IOException {
    return node(
        Patch.shadow(classFile("misstep/agent/template/MisstepShadow"), new Patch.Traits(thread)));
  }

  /** Names of all classes that a class mentions. */
  private static TreeSet<String> mentions(ClassNode node) {
    TreeSet<String> names = new TreeSet<>();
    node.accept(
        new ClassRemapper(
            new ClassNode(),
            new Remapper(Opcodes.ASM9) {
              @Override
              public String map(String name) {
                names.add(name);
                return name;
              }
            }));
    return names;
  }

  private static MethodNode method(ClassNode node, String name) {
    List<MethodNode> found = new ArrayList<>(node.methods);
    found.removeIf(m -> !m.name.equals(name));
    return found.get(0);
  }

  private static ClassNode node(byte[] file) {
    ClassNode node = new ClassNode();
    new ClassReader(file).accept(node, 0);
    return node;
  }

  private static byte[] bytes(ClassNode node) {
    ClassWriter writer = new ClassWriter(0);
    node.accept(writer);
    return writer.toByteArray();
  }

  private static byte[] classFile(String name) throws IOException {
    try (InputStream in = ClassLoader.getSystemResourceAsStream(name + ".class")) {
      return in.readAllBytes();
    }
  }
}
