package misstep.workloads.clinit;

import java.util.function.LongSupplier;
import misstep.workloads.FreshLoader;
import misstep.workloads.Harness;
import misstep.workloads.ValidationException;

/**
 * Initialises classes from code that is compiled when it runs for the first time (with {@code -Xcomp}), in each way in
 * which code can begin it. Their initialisers call methods, so that there is something to check inside them.
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
    Harness.run(
        (index, scratch) -> {
          for (int i = 0; i < rounds; i++) {
            LongSupplier starts = new FreshLoader(Main.class, "fresh").make("Starts", LongSupplier.class);
            // 25 initialisers; each adds the 12th Fibonacci number and its own number, 1 to 25.
            ValidationException.equal("sum of the initialisers", 25 * 144 + 25 * 26 / 2, starts.getAsLong());
          }
        });
  }
}
