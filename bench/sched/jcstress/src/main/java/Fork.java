import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.infra.StateCase;
import org.openjdk.jcstress.infra.Status;
import org.openjdk.jcstress.infra.TestInfo;
import org.openjdk.jcstress.infra.collectors.TestResult;
import org.openjdk.jcstress.infra.runners.ForkedTestConfig;
import org.openjdk.jcstress.infra.runners.Runner;
import org.openjdk.jcstress.infra.runners.SpinLoopStyle;
import org.openjdk.jcstress.infra.runners.TestList;

/**
 * Runs one of jcstress's tests, as a JVM does that it forks. The JVM that forks them runs nothing on
 * one CPU, and begins with twenty JVMs to learn what they can do.
 */
final class Fork {
  private static final int MAX_FOOTPRINT_MB = 32;
  private static final int MIN_STRIDE = 10;
  private static final int MAX_STRIDE = 10_000;

  private Fork() {}

  public static void main(String[] args) throws Exception {
    TestInfo test = TestList.getInfo(args[0]);
    ForkedTestConfig config = config(test, Integer.parseInt(args[1]));
    Runner<?> runner =
        (Runner<?>)
            Class.forName(test.generatedRunner())
                .getConstructor(ForkedTestConfig.class)
                .newInstance(config);
    TestResult result = runner.run();
    if (result.status() != Status.NORMAL) {
      throw new IllegalStateException(result.status() + ": " + result.getMessages());
    }
    for (String state : result.getStateKeys()) {
      System.out.println(expect(test, state) + " " + result.getCount(state) + " " + state);
    }
    System.out.println("end"); // without it the output is not whole
    System.out.flush();
    Runtime.getRuntime().halt(0);
  }

  /** The defaults, except that threads yield while they wait for each other, and that none is bound. */
  private static ForkedTestConfig config(TestInfo test, int ms) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (DataOutputStream out = new DataOutputStream(bytes)) {
      out.writeInt(SpinLoopStyle.THREAD_YIELD.ordinal());
      out.writeInt(ms);
      out.writeInt(1); // iterations
      out.writeUTF(test.generatedRunner());
      out.writeInt(MAX_FOOTPRINT_MB);
      out.writeInt(MIN_STRIDE);
      out.writeInt(MAX_STRIDE);
      out.writeInt(test.threads());
      for (int i = 0; i < test.threads(); i++) {
        out.writeInt(-1);
      }
    }
    return new ForkedTestConfig(new DataInputStream(new ByteArrayInputStream(bytes.toByteArray())));
  }

  private static Expect expect(TestInfo test, String state) {
    for (StateCase c : test.cases()) {
      if (c.matchesExactly(state)) {
        return c.expect();
      }
    }
    for (StateCase c : test.cases()) {
      if (c.matches(state)) {
        return c.expect();
      }
    }
    return test.unmatched().expect();
  }
}
