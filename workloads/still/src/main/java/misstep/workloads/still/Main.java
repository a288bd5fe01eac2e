package misstep.workloads.still;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import misstep.workloads.Harness;
import misstep.workloads.ValidationException;

/**
 * Threads that build a stack and stand on it for a known time, computing, sleeping, waiting or
 * running native code; others start, stand once and end. They print what stood when, so that each
 * sample of a profiler can be held against it: see {@link Report}.
 */
public final class Main {
  private static final int TOWERS = 6;
  private static final int SHORT = 3;

  private Main() {}

  /**
   * Runs the workload.
   *
   * @param args milliseconds that a stack stands, times that each thread does so, seed
   */
  public static void main(String[] args) {
    int millis = Harness.argument(args, 0, 50);
    int times = Harness.argument(args, 1, 12);
    int seed = Harness.argument(args, 2, 7);
    Report report = new Report();
    Harness.run(
        (index, scratch) -> {
          List<Standing> threads = new ArrayList<>();
          Random random = new Random(31L * seed + index);
          for (Activity activity : Activity.values()) {
            threads.add(new Standing(activity, towers(random), millis, times, report));
          }
          Starter starter = new Starter(random.nextLong(), millis, times, report);
          starter.start();
          for (Standing t : threads) {
            t.start();
          }
          for (Standing t : threads) {
            t.join();
          }
          starter.join();
          threads.addAll(starter.started);
          int stood = 0;
          for (Standing t : threads) {
            if (t.thrown != null) {
              throw new ValidationException(t.getName() + ": " + t.thrown);
            }
            stood += t.stood;
          }
          int all = (Activity.values().length + SHORT) * times;
          ValidationException.equal("times that a stack stood", all, stood);
        });
  }

  static Tower[] towers(Random random) {
    Tower[] towers = new Tower[TOWERS];
    for (int i = 0; i < towers.length; i++) {
      towers[i] = new Tower(random, 4 + random.nextInt(60));
    }
    return towers;
  }

  /** A thread that stands on one tower after the other. */
  static final class Standing extends Thread {
    private final Activity activity;
    private final Tower[] towers;
    private final int millis;
    private final int times;
    private final Report report;
    int stood;
    Throwable thrown;

    Standing(Activity activity, Tower[] towers, int millis, int times, Report report) {
      super("still-" + activity);
      this.activity = activity;
      this.towers = towers;
      this.millis = millis;
      this.times = times;
      this.report = report;
    }

    @Override
    public void run() {
      try {
        for (int i = 0; i < times; i++) {
          towers[i % towers.length].climb(activity, millis, report);
          stood++;
        }
        report.cpu();
      } catch (Throwable e) {
        thrown = e;
      }
    }
  }

  /** Starts threads that stand once and end, a few at a time. */
  private static final class Starter extends Thread {
    final List<Standing> started = new ArrayList<>();
    private final Random random;
    private final int millis;
    private final int times;
    private final Report report;

    Starter(long seed, int millis, int times, Report report) {
      super("still-starter");
      random = new Random(seed);
      this.millis = millis;
      this.times = times;
      this.report = report;
    }

    @Override
    public void run() {
      Tower[] towers = towers(random);
      for (int i = 0; i < times; i++) {
        List<Standing> wave = new ArrayList<>();
        for (int k = 0; k < SHORT; k++) {
          Tower[] one = {towers[random.nextInt(towers.length)]};
          wave.add(new Standing(Activity.MIX, one, Math.max(1, millis / 3), 1, report));
        }
        for (Standing t : wave) {
          t.start();
        }
        try {
          for (Standing t : wave) {
            t.join();
          }
        } catch (InterruptedException e) {
          return;
        }
        started.addAll(wave);
      }
    }
  }
}
