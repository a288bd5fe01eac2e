package misstep.agent.instrument;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.util.CheckClassAdapter;

/** Every method of every class of real libraries, of four compilers. */
class RealClassesTest {
  private static final String CORRECT = "correct";
  private static final String RUNTIME = "java/lang/MisstepShadow";

  @Test
  void baseModule() throws IOException {
    // AgentIT has the JVM verify all of these, so that ASM's slower check may take a share.
    check(ClassFiles.ofModule("java.base"), 6000, 5);
  }

  @ParameterizedTest
  @ValueSource(strings = {"asm", "asm-tree", "kotlin-stdlib", "scala-library", "scala3-library_3"})
  void jars(String jar) throws IOException {
    check(ClassFiles.ofJar(jar), 30, 3);
  }

  @Test
  void severalThreadsAtOnceMakeTheSame() throws IOException {
    Map<String, byte[]> files = ClassFiles.ofJar("asm-tree");
    Map<String, byte[]> alone = new TreeMap<>();
    files.forEach((name, file) -> alone.put(name, bytesOrNone(file)));
    Instrumenter shared = new Instrumenter(RUNTIME);
    for (int round = 0; round < 5; round++) {
      files.entrySet().parallelStream()
          .forEach(
              e -> {
                Recorder own = new Recorder();
                Instrumented made = shared.instrument(e.getValue(), own, own, own, own);
                assertArrayEquals(
                    alone.get(e.getKey()), made == null ? new byte[0] : made.bytes, e.getKey());
              });
    }
  }

  private static byte[] bytesOrNone(byte[] file) {
    Instrumented made = new Recorder().instrument(RUNTIME, file);
    return made == null ? new byte[0] : made.bytes;
  }

  private static void check(Map<String, byte[]> files, int atLeast, int checkEvery) {
    assertTrue(files.size() >= atLeast, "only " + files.size() + " classes");
    List<String> problems = new ArrayList<>();
    Recorder recorder = new Recorder();
    int methods = 0;
    int count = 0;
    for (Map.Entry<String, byte[]> e : files.entrySet()) {
      byte[] file = e.getValue();
      byte[] before = file.clone();
      Instrumented made = recorder.instrument(RUNTIME, file);
      assertArrayEquals(before, file, "the input must not change");
      if (made == null) {
        continue;
      }
      methods += made.methods.size();
      Instrumented again = Recorder.from(recorder.firstId).instrument(RUNTIME, before);
      assertArrayEquals(made.bytes, again.bytes, e.getKey() + " differs the second time");
      // Scala writes access flags that ASM's check refuses: what is wrong before may stay wrong.
      String verdict = count++ % checkEvery == 0 ? verdict(made.bytes) : CORRECT;
      if (!verdict.equals(CORRECT) && !verdict.equals(verdict(file))) {
        problems.add(e.getKey() + ": " + verdict);
      }
      RealPlaces.check(made, RUNTIME);
    }
    assertEquals(List.of(), problems);
    // The one constructor that calls no other.
    recorder.complaints.remove("java/lang/Object.<init>()V: 0 calls of super() or this()");
    assertEquals(List.of(), recorder.complaints);
    assertTrue(methods >= files.size() / 2, "only " + methods + " methods");
  }

  private static String verdict(byte[] file) {
    try {
      new ClassReader(file).accept(new CheckClassAdapter(new ClassWriter(0), true), 0);
      return CORRECT;
    } catch (RuntimeException e) {
      return e.toString();
    }
  }
}
