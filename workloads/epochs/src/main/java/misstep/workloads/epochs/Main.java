package misstep.workloads.epochs;

import java.nio.file.Path;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import misstep.workloads.Harness;
import misstep.workloads.ValidationException;

/**
 * What the tags and epochs of JFR's constants have to survive: in each round short-lived threads
 * run classes of loaders of their own, some of which are redefined while they run, and are dropped;
 * meanwhile another thread starts, dumps and stops recordings, which begins new chunks, and now and
 * then the classes of earlier rounds are unloaded.
 */
public final class Main {
  private static final int THREADS = 6;
  private static final int ROUNDS_PER_COLLECTION = 4;

  private Main() {}

  /**
   * Runs the workload.
   *
   * @param args rounds of a repetition, and a seed
   */
  public static void main(String[] args) {
    int rounds = Harness.argument(args, 0, 24);
    int seed = Harness.argument(args, 1, 7);
    Harness.run((index, scratch) -> repetition(new Random(seed * 31L + index), rounds, scratch));
  }

  private static void repetition(Random random, int rounds, Path scratch) throws Exception {
    AtomicLong sum = new AtomicLong();
    long want = 0;
    try (Rotation rotation = new Rotation(scratch)) {
      for (int round = 0; round < rounds; round++) {
        Thread[] threads = new Thread[THREADS];
        for (int i = 0; i < THREADS; i++) {
          int steps = 20 + random.nextInt(60);
          boolean redefine = random.nextInt(3) == 0;
          want += steps;
          Runner runner = new Runner(steps, redefine, sum);
          threads[i] = new Thread(runner, "round-" + round + "-" + i);
          threads[i].start();
        }
        rotation.dump();
        for (Thread thread : threads) {
          thread.join();
        }
        if (round % ROUNDS_PER_COLLECTION == 0) {
          System.gc();
        }
      }
      ValidationException.equal("failures of recordings", 0, rotation.failures());
    }
    ValidationException.equal("steps", want, sum.get());
  }
}
