package misstep.workloads.churn;

import java.util.concurrent.atomic.AtomicLong;
import misstep.workloads.Harness;
import misstep.workloads.ValidationException;

/**
 * Starts short-lived threads in waves and leaves some running when the program ends: an agent
 * mostly sees threads that are just starting or just ending.
 */
public final class Main {
  private static final int WAVE = 16;
  private static final int DEPTH = 14;
  private static final long CALLS = 1219; // of fibonacci(DEPTH)

  private Main() {}

  /**
   * Runs the workload.
   *
   * @param args waves of a repetition
   */
  public static void main(String[] args) {
    int waves = Harness.argument(args, 0, 200);
    for (int i = 0; i < 2; i++) {
      Thread left = new Thread(Main::endless, "left-" + i);
      left.setDaemon(true);
      left.start();
    }
    Harness.run(
        (index, scratch) -> {
          AtomicLong calls = new AtomicLong();
          for (int wave = 0; wave < waves; wave++) {
            Thread[] threads = new Thread[WAVE];
            for (int i = 0; i < WAVE; i++) {
              threads[i] = new Thread(() -> calls.addAndGet(fibonacci(DEPTH)));
              threads[i].start();
            }
            for (Thread thread : threads) {
              thread.join();
            }
          }
          ValidationException.equal("calls", waves * WAVE * CALLS, calls.get());
        });
  }

  /** Counts its own calls. */
  private static long fibonacci(int n) {
    return n < 2 ? 1 : fibonacci(n - 1) + fibonacci(n - 2) + 1;
  }

  private static void endless() {
    while (fibonacci(DEPTH) > 0) {
      Thread.yield();
    }
  }
}
