package misstep.programs;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/**
 * Measures what one push and pop cost: two methods of the same code are called in turn, of which
 * only {@code instrumented} is to be instrumented (option only) and neither may be inlined
 * (-XX:CompileCommand=dontinline,*PairCost.*Leaf). Prints nanoseconds of CPU time a call, the least
 * of all rounds, so that a busy machine does not count.
 */
public final class PairCost {
  private static final int ROUNDS = 200;
  private static final int CALLS = 200_000;

  private PairCost() {}

  /** Runs and prints. */
  public static void main(String[] args) {
    ThreadMXBean clock = ManagementFactory.getThreadMXBean();
    double[] best = {Double.MAX_VALUE, Double.MAX_VALUE};
    long sum = 0;
    for (int round = 0; round < ROUNDS; round++) {
      long a = clock.getCurrentThreadCpuTime();
      sum += callPlain();
      long b = clock.getCurrentThreadCpuTime();
      sum += callInstrumented();
      long c = clock.getCurrentThreadCpuTime();
      best[0] = Math.min(best[0], (double) (b - a) / CALLS);
      best[1] = Math.min(best[1], (double) (c - b) / CALLS);
    }
    System.out.printf(
        "plain %.2f ns, instrumented %.2f ns, pair %.2f ns (%d)%n",
        best[0], best[1], best[1] - best[0], sum);
  }

  private static long callPlain() {
    long sum = 0;
    for (int i = 0; i < CALLS; i++) {
      sum += plainLeaf(i);
    }
    return sum;
  }

  private static long callInstrumented() {
    long sum = 0;
    for (int i = 0; i < CALLS; i++) {
      sum += instrumentedLeaf(i);
    }
    return sum;
  }

  private static long plainLeaf(int i) {
    return i * 31L + 7;
  }

  private static long instrumentedLeaf(int i) {
    return i * 31L + 7;
  }
}
