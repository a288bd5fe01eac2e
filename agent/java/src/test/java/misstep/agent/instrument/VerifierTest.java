package misstep.agent.instrument;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The JVM's own verifier accepts every instrumented class. */
class VerifierTest {
  @ParameterizedTest
  @ValueSource(
      strings = {"asm", "asm-analysis", "kotlin-stdlib", "scala-library", "scala3-library_3"})
  void jars(String jar) throws IOException {
    Map<String, byte[]> files = ClassFiles.ofJar(jar);
    ChildLoader loader = new ChildLoader(VerifierTest.class.getClassLoader());
    Recorder recorder = new Recorder();
    int instrumented = 0;
    for (Map.Entry<String, byte[]> e : files.entrySet()) {
      Instrumented made = recorder.instrument(Shadow.NAME, e.getValue());
      instrumented += made != null ? 1 : 0;
      loader.add(e.getKey(), made != null ? made.bytes : e.getValue());
    }
    assertEquals(List.of(), loader.verifyAll());
    assertTrue(
        loader.unlinked * 50 < instrumented,
        loader.unlinked + " of " + instrumented + " could not be verified");
  }
}
