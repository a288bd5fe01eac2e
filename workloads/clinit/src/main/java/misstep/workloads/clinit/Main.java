package misstep.workloads.clinit;

import java.nio.file.Path;
import java.util.function.LongSupplier;
import misstep.workloads.FreshLoader;
import misstep.workloads.Harness;
import misstep.workloads.ValidationException;
import misstep.workloads.Workload;

/**
 * Initialises classes from code that is compiled before its first execution (with {@code -Xcomp}),
 * in each way in which code can trigger it. Their initialisers call methods, so that there is
 * something to check inside them. Lambdas and reflection are avoided: with {@code -Xcomp} their
 * machinery would take longer to compile than everything else.
 */
public final class Main {
  private Main() {}

  /**
   * Runs the workload.
   *
   * @param args how often one repetition defines and initialises all classes anew
   */
  public static void main(String[] args) {
    int rounds = Harness.argument(args, 0, 10);
    Harness.run(new Initialisers(rounds));
  }

  private static final class Initialisers implements Workload {
    private final int rounds;

    Initialisers(int rounds) {
      this.rounds = rounds;
    }

    @Override
    public void repetition(int index, Path scratch) throws Exception {
      for (int i = 0; i < rounds; i++) {
        LongSupplier starts =
            new FreshLoader(Main.class, "fresh").make("Starts", LongSupplier.class);
        // 23 initialisers; each adds the 12th Fibonacci number and its own number, 1 to 23.
        ValidationException.equal(
            "sum of the initialisers", 23 * 144 + 23 * 24 / 2, starts.getAsLong());
      }
    }
  }
}
