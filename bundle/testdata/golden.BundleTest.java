/*
 * @test
 * @bug 8303444
 * @summary AsyncGetCallTrace and JVMTI GetStackTrace, called at the same place by the same thread, give the same frames.
 * @comment finding F0123456789ab of Misstep: runs the bundle's run.sh on the JDK under test
 * @requires os.family == "linux" & os.arch == "amd64" & jdk.version.major >= 17
 * @run main/othervm/timeout=585 BundleTest
 */

import java.nio.file.Path;
import java.nio.file.Paths;

/** Fails when the finding shows within 7 tries, passes when it does not. */
public class BundleTest {
  public static void main(String[] args) throws Exception {
    Path script = Paths.get(System.getProperty("test.src", "."), "..", "run.sh");
    String jdk = System.getProperty("test.jdk", System.getProperty("java.home"));
    ProcessBuilder run =
        new ProcessBuilder("bash", script.toString(), "-f", "-n", "7", jdk);
    int status = run.redirectErrorStream(true).inheritIO().start().waitFor();
    switch (status) {
      case 0:
        throw new RuntimeException("reproduced: F0123456789ab, see the output");
      case 1:
        return;
      default:
        throw new Error("could not run, exit code " + status + ": the test proves nothing");
    }
  }
}
