package misstep.agent.instrument;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
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
    check(ClassFiles.ofModule("java.base"), 6000);
  }

  @ParameterizedTest
  @ValueSource(strings = {"asm", "asm-tree", "kotlin-stdlib", "scala-library", "scala3-library_3"})
  void jars(String jar) throws IOException {
    check(ClassFiles.ofJar(jar), 30);
  }

  private static void check(Map<String, byte[]> files, int atLeast) {
    assertTrue(files.size() >= atLeast, "only " + files.size() + " classes");
    List<String> problems = new ArrayList<>();
    Recorder recorder = new Recorder();
    int methods = 0;
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
      String verdict = verdict(made.bytes);
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
