package misstep.workloads.deopt;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.IntToLongFunction;
import misstep.workloads.FreshLoader;
import misstep.workloads.Harness;
import misstep.workloads.ValidationException;

/**
 * Constantly invalidates the compilers' assumptions: sole subclasses get siblings, branches that
 * were never taken are taken. Each round has its own classes, so that it starts afresh.
 */
public final class Main {
  private static final int THREADS = 2;

  private Main() {}

  /**
   * Runs the workload.
   *
   * @param args rounds of one repetition
   */
  public static void main(String[] args) {
    int rounds = Harness.argument(args, 0, 300);
    Harness.run(
        (index, scratch) -> {
          ExecutorService pool = Executors.newFixedThreadPool(THREADS);
          try {
            List<Callable<Void>> tasks = new ArrayList<>();
            for (int i = 0; i < THREADS; i++) {
              tasks.add(() -> churn(rounds / THREADS));
            }
            for (Future<Void> task : pool.invokeAll(tasks)) {
              task.get();
            }
          } finally {
            pool.shutdownNow();
          }
        });
  }

  private static Void churn(int rounds) throws Exception {
    for (int i = 0; i < rounds; i++) {
      FreshLoader fresh = new FreshLoader(Main.class, "fresh");
      IntToLongFunction assumptions = fresh.make("Assumptions", IntToLongFunction.class);
      // Each phase breaks assumptions that the previous phases allowed.
      for (int phase = 0; phase < 6; phase++) {
        ValidationException.equal(
            "phase " + phase, expected(phase), assumptions.applyAsLong(phase));
      }
    }
    return null;
  }

  /** Computes the result expected of the fresh classes, without code that allows assumptions. */
  private static long expected(int phase) {
    long sum = 0;
    for (int i = 0; i < 6000; i++) {
      int kind = phase == 0 ? 0 : i % (phase + 1);
      sum += kind == 0 ? i : kind == 5 ? -1 : (long) i * (kind + 1);
    }
    return sum;
  }
}
