package misstep.workloads.hangs;

import java.nio.file.Path;
import java.util.Random;
import misstep.workloads.ValidationException;

/** Stops all threads while some are in long counted loops, which the compilers leave few polls. */
final class Safepoints implements Part {
  private static final int THREADS = 3;
  private static final int STEPS = 2_000_000;

  @Override
  public void round(Random random, Path scratch) throws Exception {
    int[] sums = new int[THREADS];
    Threads threads = new Threads();
    for (int i = 0; i < THREADS; i++) {
      int own = i;
      threads.start("loop-" + i, () -> sums[own] = loop(own));
    }
    for (int i = random.nextInt(4); i >= 0; i--) {
      if (random.nextInt(4) == 0) {
        System.gc();
      } else {
        Thread.getAllStackTraces();
      }
    }
    threads.join();
    for (int i = 0; i < THREADS; i++) {
      ValidationException.equal("sum of a loop", STEPS + i, sums[i]);
    }
  }

  private static int loop(int from) {
    int sum = from;
    for (int i = 0; i < STEPS; i++) {
      sum += (i | 1) - i + ((i & 1) == 0 ? 0 : 1);
    }
    return sum;
  }
}
