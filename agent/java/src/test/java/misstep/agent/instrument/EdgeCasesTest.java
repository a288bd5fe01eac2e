package misstep.agent.instrument;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.InvocationTargetException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.objectweb.asm.AnnotationVisitor;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.Label;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.tree.ClassNode;

/** Class files that no compiler at hand writes. */
class EdgeCasesTest {
  private static final String NAME = "misstep/generated/Edge";
  private static final String OBJECT = "java/lang/Object";

  private final Recorder recorder = new Recorder();

  @AfterEach
  void nothingIsLeftOnTheShadow() {
    assertEquals(List.of(), Shadow.ids());
    assertEquals(Shadow.pushes(), Shadow.pops());
    Shadow.reset();
  }

  /** The JVM shows the code that runs when it has nothing older (JFR's events). */
  @Test
  void whatIsInstrumentedStaysAsItIs() {
    byte[] plain =
        staticMethod(
            Opcodes.V1_8, "()V", ClassWriter.COMPUTE_MAXS, v -> v.visitInsn(Opcodes.RETURN));
    Instrumented once = recorder.instrument(Shadow.NAME, plain);
    Instrumented twice = recorder.instrument(Shadow.NAME, once.bytes);
    assertArrayEquals(once.bytes, twice.bytes);
    assertEquals(once.methods.size(), twice.methods.size());
    assertEquals(once.methods.get(0).key, twice.methods.get(0).key);
  }

  @ParameterizedTest
  @ValueSource(
      ints = {
        3 << 16 | 45, // Java 1.1
        Opcodes.V1_2,
        Opcodes.V1_4,
        Opcodes.V1_5,
        Opcodes.V1_6
      })
  void subroutinesAreInlined(int version) throws Exception {
    byte[] file =
        staticMethod(
            version,
            "(I)I",
            0,
            mv -> {
              // Two calls of one subroutine, which doubles local 0.
              Label subroutine = new Label();
              mv.visitJumpInsn(Opcodes.JSR, subroutine);
              mv.visitJumpInsn(Opcodes.JSR, subroutine);
              mv.visitVarInsn(Opcodes.ILOAD, 0);
              mv.visitInsn(Opcodes.IRETURN);
              mv.visitLabel(subroutine);
              mv.visitVarInsn(Opcodes.ASTORE, 1);
              mv.visitVarInsn(Opcodes.ILOAD, 0);
              mv.visitInsn(Opcodes.DUP);
              mv.visitInsn(Opcodes.IADD);
              mv.visitVarInsn(Opcodes.ISTORE, 0);
              mv.visitVarInsn(Opcodes.RET, 1);
              mv.visitMaxs(2, 2);
            });
    Class<?> edge = define(file);
    assertEquals(28, edge.getMethod("m", int.class).invoke(null, 7));
    assertEquals(1, Shadow.pushes());
  }

  @ParameterizedTest
  @ValueSource(ints = {3 << 16 | 45, Opcodes.V1_2, Opcodes.V1_5, Opcodes.V1_6})
  void oldClassesWithoutFramesStayWithoutFrames(int version) throws Exception {
    byte[] file =
        staticMethod(
            version,
            "(I)I",
            0,
            mv -> {
              Label zero = new Label();
              mv.visitVarInsn(Opcodes.ILOAD, 0);
              mv.visitJumpInsn(Opcodes.IFEQ, zero);
              mv.visitInsn(Opcodes.ICONST_5);
              mv.visitInsn(Opcodes.IRETURN);
              mv.visitLabel(zero);
              mv.visitInsn(Opcodes.ICONST_1);
              mv.visitVarInsn(Opcodes.ILOAD, 0);
              mv.visitInsn(Opcodes.IDIV);
              mv.visitInsn(Opcodes.IRETURN);
              mv.visitMaxs(2, 1);
            });
    Class<?> edge = define(file);
    assertEquals(5, edge.getMethod("m", int.class).invoke(null, 3));
    InvocationTargetException e =
        assertThrows(
            InvocationTargetException.class, () -> edge.getMethod("m", int.class).invoke(null, 0));
    assertEquals("/ by zero", e.getCause().getMessage());
    assertEquals(2, Shadow.pushes());
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 128, 32767, 32768, 1 << 30})
  void idsOfAllSizesArrive(int id) throws Exception {
    byte[] file = staticMethod(Opcodes.V1_8, "()V", 0, EdgeCasesTest::justReturn);
    Recorder from = Recorder.from(id);
    Instrumented made = from.instrument(Shadow.NAME, file);
    assertEquals(id, made.methods.get(0).id);
    RealPlaces.check(made, Shadow.NAME);
    List<Integer> seen = new ArrayList<>();
    Shadow.observe(seen::addAll);
    load(made.bytes).getMethod("m").invoke(null);
    assertEquals(List.of(id), seen);
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 253, 254, 255, 256, 300, 65533})
  void manyLocals(int locals) throws Exception {
    byte[] file =
        staticMethod(
            Opcodes.V1_8,
            "(I)I",
            ClassWriter.COMPUTE_FRAMES,
            mv -> {
              Label again = new Label();
              mv.visitInsn(Opcodes.ICONST_0);
              mv.visitVarInsn(Opcodes.ISTORE, locals - 1);
              mv.visitLabel(again);
              mv.visitIincInsn(locals - 1, 1);
              mv.visitVarInsn(Opcodes.ILOAD, locals - 1);
              mv.visitIntInsn(Opcodes.BIPUSH, 9);
              mv.visitJumpInsn(Opcodes.IF_ICMPLT, again);
              mv.visitVarInsn(Opcodes.ILOAD, locals - 1);
              mv.visitInsn(Opcodes.IRETURN);
              mv.visitMaxs(0, 0);
            });
    assertEquals(9, define(file).getMethod("m", int.class).invoke(null, 1));
    assertEquals(1, Shadow.pushes());
  }

  @Test
  void methodWithoutFreeLocalIsLeftAlone() {
    byte[] file =
        staticMethod(
            Opcodes.V1_8,
            "()V",
            0,
            mv -> {
              mv.visitInsn(Opcodes.RETURN);
              mv.visitMaxs(0, 65534);
            });
    assertNull(recorder.instrument(Shadow.NAME, file));
    assertEquals(List.of(NAME + ".m()V: no local slot is left"), recorder.complaints);
  }

  @ParameterizedTest
  @ValueSource(ints = {65_400, 65_520, 65_521, 65_535}) // 15 bytes are added
  void longMethodsAreLeftAloneOnlyWhenTheyMust(int length) throws Exception {
    ClassWriter writer = begin(Opcodes.V1_8, 0);
    writeMethod(
        writer,
        "m",
        "()V",
        mv -> {
          for (int i = 1; i < length; i++) {
            mv.visitInsn(Opcodes.NOP);
          }
          justReturn(mv);
        });
    writeMethod(writer, "n", "()V", EdgeCasesTest::justReturn);
    Instrumented made = recorder.instrument(Shadow.NAME, writer.toByteArray());
    boolean fits = length + 15 <= 65_535;
    assertEquals(fits ? 2 : 1, made.methods.size());
    assertEquals(
        fits ? List.of() : List.of(NAME + ".m()V: would exceed 64 KB"), recorder.complaints);
    RealPlaces.check(made, Shadow.NAME);
    Class<?> edge = load(made.bytes);
    edge.getMethod("m").invoke(null);
    edge.getMethod("n").invoke(null);
    assertEquals(fits ? 2 : 1, Shadow.pushes());
  }

  @Test
  void jumpsThatBecomeTooLongStillTellTheRightPlaces() throws Exception {
    byte[] file =
        staticMethod(
            Opcodes.V1_8,
            "(I)I",
            ClassWriter.COMPUTE_FRAMES,
            mv -> {
              // Many returns in between: their pops push the target out of a short jump's reach.
              Label far = new Label();
              mv.visitVarInsn(Opcodes.ILOAD, 0);
              mv.visitJumpInsn(Opcodes.IFEQ, far);
              for (int i = 0; i < 3500; i++) {
                Label next = new Label();
                mv.visitVarInsn(Opcodes.ILOAD, 0);
                mv.visitIntInsn(Opcodes.SIPUSH, i);
                mv.visitJumpInsn(Opcodes.IF_ICMPNE, next);
                mv.visitVarInsn(Opcodes.ILOAD, 0);
                mv.visitInsn(Opcodes.IRETURN);
                mv.visitLabel(next);
              }
              mv.visitLabel(far);
              mv.visitInsn(Opcodes.ICONST_M1);
              mv.visitInsn(Opcodes.IRETURN);
              mv.visitMaxs(0, 0);
            });
    Class<?> edge = define(file);
    assertEquals(-1, edge.getMethod("m", int.class).invoke(null, 0));
    assertEquals(3210, edge.getMethod("m", int.class).invoke(null, 3210));
    assertEquals(-1, edge.getMethod("m", int.class).invoke(null, 5000));
  }

  @Test
  void leftoversOnTheStackAreNoHindrance() throws Exception {
    byte[] file =
        staticMethod(
            Opcodes.V1_8,
            "()J",
            0,
            mv -> {
              mv.visitInsn(Opcodes.ICONST_1);
              mv.visitInsn(Opcodes.ACONST_NULL);
              mv.visitLdcInsn(77L);
              mv.visitInsn(Opcodes.LRETURN);
              mv.visitMaxs(4, 0);
            });
    assertEquals(77L, define(file).getMethod("m").invoke(null));
  }

  @Test
  void loopToTheVeryFirstInstructionPushesOnce() throws Exception {
    byte[] file =
        staticMethod(
            Opcodes.V1_8,
            "(I)I",
            ClassWriter.COMPUTE_FRAMES,
            mv -> {
              Label start = new Label();
              mv.visitLabel(start);
              mv.visitIincInsn(0, -1);
              mv.visitVarInsn(Opcodes.ILOAD, 0);
              mv.visitJumpInsn(Opcodes.IFGT, start);
              mv.visitVarInsn(Opcodes.ILOAD, 0);
              mv.visitInsn(Opcodes.IRETURN);
              mv.visitMaxs(0, 0);
            });
    assertEquals(0, define(file).getMethod("m", int.class).invoke(null, 10));
    assertEquals(1, Shadow.pushes());
  }

  @Test
  void endlessMethodHasNoReturn() throws Exception {
    byte[] file =
        staticMethod(
            Opcodes.V1_8,
            "()V",
            0,
            mv -> {
              mv.visitInsn(Opcodes.ACONST_NULL);
              mv.visitInsn(Opcodes.ATHROW);
              mv.visitMaxs(1, 0);
            });
    Class<?> edge = define(file);
    InvocationTargetException e =
        assertThrows(InvocationTargetException.class, () -> edge.getMethod("m").invoke(null));
    assertEquals(NullPointerException.class, e.getCause().getClass());
  }

  @Test
  void superCallInTheMiddleOfAnArgumentsLoop() throws Exception {
    // The code before super() lies partly behind it in the file.
    byte[] file =
        constructor(
            "(I)V",
            mv -> {
              Label test = new Label();
              Label body = new Label();
              mv.visitJumpInsn(Opcodes.GOTO, test);
              Label init = new Label();
              mv.visitLabel(init);
              mv.visitVarInsn(Opcodes.ALOAD, 0);
              mv.visitMethodInsn(Opcodes.INVOKESPECIAL, OBJECT, "<init>", "()V", false);
              Label done = new Label();
              mv.visitJumpInsn(Opcodes.GOTO, done);
              mv.visitLabel(test);
              mv.visitVarInsn(Opcodes.ILOAD, 1);
              mv.visitJumpInsn(Opcodes.IFGT, body);
              mv.visitJumpInsn(Opcodes.GOTO, init);
              mv.visitLabel(body);
              mv.visitIincInsn(1, -1);
              mv.visitJumpInsn(Opcodes.GOTO, test);
              mv.visitLabel(done);
              mv.visitVarInsn(Opcodes.ILOAD, 1);
              Label end = new Label();
              mv.visitJumpInsn(Opcodes.IFEQ, end);
              mv.visitInsn(Opcodes.ACONST_NULL);
              mv.visitInsn(Opcodes.ATHROW);
              mv.visitLabel(end);
              mv.visitInsn(Opcodes.RETURN);
              mv.visitMaxs(0, 0);
            });
    Class<?> edge = define(file);
    edge.getConstructor(int.class).newInstance(5);
    assertEquals(1, Shadow.pushes());
    InvocationTargetException e =
        assertThrows(
            InvocationTargetException.class, () -> edge.getConstructor(int.class).newInstance(-5));
    assertEquals(NullPointerException.class, e.getCause().getClass());
    assertEquals(2, Shadow.pushes());
  }

  @Test
  void objectOfTheSameClassAmongTheArguments() throws Exception {
    // new Edge(null) on the stack, under a branch, when this(…) is called.
    byte[] file =
        constructor(
            "(Ljava/lang/Object;)V",
            mv -> {
              Label plain = new Label();
              Label end = new Label();
              mv.visitVarInsn(Opcodes.ALOAD, 1);
              mv.visitJumpInsn(Opcodes.IFNULL, plain);
              mv.visitVarInsn(Opcodes.ALOAD, 0);
              mv.visitTypeInsn(Opcodes.NEW, NAME);
              mv.visitInsn(Opcodes.DUP);
              mv.visitInsn(Opcodes.ACONST_NULL);
              mv.visitMethodInsn(
                  Opcodes.INVOKESPECIAL, NAME, "<init>", "(Ljava/lang/Object;)V", false);
              mv.visitInsn(Opcodes.POP);
              mv.visitJumpInsn(Opcodes.GOTO, end);
              mv.visitLabel(plain);
              mv.visitVarInsn(Opcodes.ALOAD, 0);
              mv.visitLabel(end);
              mv.visitMethodInsn(Opcodes.INVOKESPECIAL, OBJECT, "<init>", "()V", false);
              mv.visitInsn(Opcodes.RETURN);
              mv.visitMaxs(0, 0);
            });
    Class<?> edge = define(file);
    edge.getConstructor(Object.class).newInstance("x");
    assertEquals(2, Shadow.pushes());
  }

  @Test
  void twoSuperCallsLeaveTheConstructorAlone() throws Exception {
    byte[] file =
        constructor(
            "(I)V",
            mv -> {
              Label other = new Label();
              Label end = new Label();
              mv.visitVarInsn(Opcodes.ILOAD, 1);
              mv.visitJumpInsn(Opcodes.IFEQ, other);
              mv.visitVarInsn(Opcodes.ALOAD, 0);
              mv.visitMethodInsn(Opcodes.INVOKESPECIAL, OBJECT, "<init>", "()V", false);
              mv.visitJumpInsn(Opcodes.GOTO, end);
              mv.visitLabel(other);
              mv.visitVarInsn(Opcodes.ALOAD, 0);
              mv.visitMethodInsn(Opcodes.INVOKESPECIAL, OBJECT, "<init>", "()V", false);
              mv.visitLabel(end);
              mv.visitInsn(Opcodes.RETURN);
              mv.visitMaxs(0, 0);
            });
    assertNull(recorder.instrument(Shadow.NAME, file));
    assertEquals(List.of(NAME + ".<init>(I)V: 2 calls of super() or this()"), recorder.complaints);
  }

  @Test
  void constructorThatNeverCallsSuperIsLeftAlone() {
    byte[] file =
        constructor(
            "()V",
            mv -> {
              mv.visitInsn(Opcodes.ACONST_NULL);
              mv.visitInsn(Opcodes.ATHROW);
              mv.visitMaxs(0, 0);
            });
    assertNull(recorder.instrument(Shadow.NAME, file));
    assertEquals(List.of(NAME + ".<init>()V: 0 calls of super() or this()"), recorder.complaints);
  }

  @Test
  void statementsBeforeSuper() throws Exception {
    // As JDK 22 and later compile them: a store to the own field and a catch before super().
    ClassWriter writer = begin(Opcodes.V17, ClassWriter.COMPUTE_FRAMES);
    writer.visitField(Opcodes.ACC_PUBLIC, "n", "I", null, null).visitEnd();
    writeMethod(
        writer,
        "<init>",
        "(I)V",
        mv -> {
          Label start = new Label();
          Label end = new Label();
          Label handler = new Label();
          Label go = new Label();
          mv.visitTryCatchBlock(start, end, handler, "java/lang/ArithmeticException");
          mv.visitVarInsn(Opcodes.ALOAD, 0);
          mv.visitVarInsn(Opcodes.ILOAD, 1);
          mv.visitFieldInsn(Opcodes.PUTFIELD, NAME, "n", "I");
          mv.visitLabel(start);
          mv.visitIntInsn(Opcodes.BIPUSH, 100);
          mv.visitVarInsn(Opcodes.ILOAD, 1);
          mv.visitInsn(Opcodes.IDIV);
          mv.visitVarInsn(Opcodes.ISTORE, 1);
          mv.visitLabel(end);
          mv.visitJumpInsn(Opcodes.GOTO, go);
          mv.visitLabel(handler);
          mv.visitInsn(Opcodes.POP);
          mv.visitInsn(Opcodes.ICONST_M1);
          mv.visitVarInsn(Opcodes.ISTORE, 1);
          mv.visitLabel(go);
          mv.visitVarInsn(Opcodes.ALOAD, 0);
          mv.visitMethodInsn(Opcodes.INVOKESPECIAL, OBJECT, "<init>", "()V", false);
          mv.visitVarInsn(Opcodes.ALOAD, 0);
          mv.visitVarInsn(Opcodes.ILOAD, 1);
          mv.visitFieldInsn(Opcodes.PUTFIELD, NAME, "n", "I");
          mv.visitInsn(Opcodes.RETURN);
          mv.visitMaxs(0, 0);
        });
    Class<?> edge = define(writer.toByteArray());
    Object four = edge.getConstructor(int.class).newInstance(25);
    assertEquals(4, edge.getField("n").get(four));
    Object none = edge.getConstructor(int.class).newInstance(0);
    assertEquals(-1, edge.getField("n").get(none));
    assertEquals(2, Shadow.pushes());
  }

  @Test
  void deadCodeBehindTheConstructorsReturn() throws Exception {
    ClassWriter writer = begin(Opcodes.V1_8, 0);
    writeMethod(
        writer,
        "<init>",
        "()V",
        mv -> {
          mv.visitVarInsn(Opcodes.ALOAD, 0);
          mv.visitMethodInsn(Opcodes.INVOKESPECIAL, OBJECT, "<init>", "()V", false);
          mv.visitInsn(Opcodes.RETURN);
          // Dead, once as if before super() and once as if after it.
          Object[] before = {Opcodes.UNINITIALIZED_THIS};
          mv.visitFrame(Opcodes.F_NEW, 1, before, 0, new Object[0]);
          mv.visitVarInsn(Opcodes.ALOAD, 0);
          mv.visitMethodInsn(Opcodes.INVOKESPECIAL, OBJECT, "<init>", "()V", false);
          mv.visitInsn(Opcodes.ACONST_NULL);
          mv.visitInsn(Opcodes.ATHROW);
          mv.visitFrame(Opcodes.F_NEW, 1, new Object[] {NAME}, 0, new Object[0]);
          mv.visitInsn(Opcodes.RETURN);
          mv.visitMaxs(1, 1);
        });
    define(writer.toByteArray()).getConstructor().newInstance();
    assertEquals(1, Shadow.pushes());
  }

  @Test
  void newerVersionsAreRefused() {
    byte[] file = staticMethod(Opcodes.V17, "()V", 0, EdgeCasesTest::justReturn);
    int newest = Instrumenter.MAX_MAJOR;
    file[7] = (byte) newest;
    assertNotNull(recorder.instrument(Shadow.NAME, file));
    file[7] = (byte) (newest + 1);
    IllegalArgumentException e =
        assertThrows(IllegalArgumentException.class, () -> recorder.instrument(Shadow.NAME, file));
    assertTrue(e.getMessage().contains("class file version " + (newest + 1)), e.getMessage());
  }

  @Test
  void truncatedFilesThrowButDoNotHang() {
    byte[] file = staticMethod(Opcodes.V17, "()V", 0, EdgeCasesTest::justReturn);
    for (int length = 0; length < file.length; length++) {
      byte[] cut = Arrays.copyOf(file, length);
      assertThrows(RuntimeException.class, () -> recorder.instrument(Shadow.NAME, cut));
    }
  }

  @Test
  void annotatedMethodsAreLeftAloneByTheRule() {
    ClassWriter writer = begin(Opcodes.V1_8, 0);
    for (String name : List.of("m", "n")) {
      MethodVisitor mv = writer.visitMethod(Opcodes.ACC_STATIC, name, "()V", null, null);
      AnnotationVisitor av = mv.visitAnnotation("LMark" + name + ";", true);
      av.visitEnd();
      mv.visitCode();
      justReturn(mv);
      mv.visitEnd();
    }
    Instrumented made =
        new Instrumenter(Shadow.NAME)
            .instrument(writer.toByteArray(), recorder, "LMarkm;"::equals, recorder, recorder);
    assertEquals(1, made.methods.size());
    assertEquals("n()V", made.methods.get(0).key);
    assertEquals(2, made.methods.get(0).id, "the other id was reserved and is not used");
    assertEquals(List.of(), recorder.complaints);
    RealPlaces.check(made, Shadow.NAME);
  }

  @Test
  void whatWasNotChosenIsCopied() {
    ClassWriter writer = begin(Opcodes.V1_8, 0);
    writeMethod(writer, "m", "()V", EdgeCasesTest::justReturn);
    writeMethod(writer, "n", "()V", EdgeCasesTest::justReturn);
    byte[] file = writer.toByteArray();
    Instrumented made =
        new Instrumenter(Shadow.NAME)
            .instrument(file, (c, n, d) -> n.equals("n"), recorder, recorder, recorder);
    assertEquals(List.of("n()V"), made.methods.stream().map(m -> m.key).toList());
    ClassNode node = new ClassNode();
    new ClassReader(made.bytes).accept(node, 0);
    assertEquals(1, node.methods.get(0).instructions.size());
    assertNull(
        new Instrumenter(Shadow.NAME)
            .instrument(file, (c, n, d) -> false, recorder, recorder, recorder));
  }

  @Test
  void abstractAndNativeMethodsHaveNoCode() {
    ClassWriter writer = begin(Opcodes.V1_8, 0);
    writer.visitMethod(Opcodes.ACC_ABSTRACT, "m", "()V", null, null).visitEnd();
    writer.visitMethod(Opcodes.ACC_NATIVE, "n", "()V", null, null).visitEnd();
    assertNull(recorder.instrument(Shadow.NAME, writer.toByteArray()));
    assertEquals(List.of(), recorder.complaints);
  }

  @Test
  void membersStayTheSame() {
    byte[] file = staticMethod(Opcodes.V1_8, "()V", 0, EdgeCasesTest::justReturn);
    Instrumented made = recorder.instrument(Shadow.NAME, file);
    ClassNode before = new ClassNode();
    ClassNode after = new ClassNode();
    new ClassReader(file).accept(before, ClassReader.SKIP_CODE);
    new ClassReader(made.bytes).accept(after, ClassReader.SKIP_CODE);
    ClassWriter a = new ClassWriter(0);
    ClassWriter b = new ClassWriter(0);
    before.accept(a);
    after.accept(b);
    assertArrayEquals(a.toByteArray(), b.toByteArray());
  }

  private static void justReturn(MethodVisitor mv) {
    mv.visitInsn(Opcodes.RETURN);
    mv.visitMaxs(0, 1);
  }

  private static ClassWriter begin(int version, int flags) {
    ClassWriter writer = new ClassWriter(flags);
    int access = Opcodes.ACC_PUBLIC | Opcodes.ACC_SUPER | Opcodes.ACC_ABSTRACT;
    writer.visit(version, access & ~Opcodes.ACC_ABSTRACT, NAME, null, OBJECT, null);
    return writer;
  }

  private static void writeMethod(
      ClassWriter writer, String name, String descriptor, Consumer<MethodVisitor> code) {
    int access = Opcodes.ACC_PUBLIC | (name.equals("<init>") ? 0 : Opcodes.ACC_STATIC);
    MethodVisitor mv = writer.visitMethod(access, name, descriptor, null, null);
    mv.visitCode();
    code.accept(mv);
    mv.visitEnd();
  }

  private static byte[] staticMethod(
      int version, String descriptor, int flags, Consumer<MethodVisitor> code) {
    ClassWriter writer = begin(version, flags);
    writeMethod(writer, "m", descriptor, code);
    return writer.toByteArray();
  }

  private static byte[] constructor(String descriptor, Consumer<MethodVisitor> code) {
    ClassWriter writer = begin(Opcodes.V1_8, ClassWriter.COMPUTE_FRAMES);
    writeMethod(writer, "<init>", descriptor, code);
    return writer.toByteArray();
  }

  private Class<?> define(byte[] file) throws ClassNotFoundException {
    Instrumented made = recorder.instrument(Shadow.NAME, file);
    assertEquals(List.of(), recorder.complaints);
    assertFalse(made.methods.isEmpty());
    RealPlaces.check(made, Shadow.NAME);
    return load(made.bytes);
  }

  private static Class<?> load(byte[] file) throws ClassNotFoundException {
    ChildLoader loader = new ChildLoader(EdgeCasesTest.class.getClassLoader());
    loader.add(NAME, file);
    return loader.loadClass(NAME.replace('/', '.'));
  }
}
