import java.util.Locale;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * What the planted races share: iterations of a few threads, with a deadline that detects hangs.
 */
public final class Race {
  /** One iteration's bug, or null. */
  interface Iteration {
    String run() throws Exception;
  }

  private static final int HANG_SECONDS = 10;

  /** Whether the program runs with its fix: the third argument. */
  public static boolean fixed;

  private static volatile int sink;
  private static int hung; // seconds that the iteration spent waiting for one that hangs

  private Race() {}

  static void iterate(String[] args, Iteration iteration) throws Exception {
    for (int i = 0; i < 20_000; i++) { // compiled, so that a window is as wide in each iteration
      work(100);
    }
    long n = args.length > 0 ? Long.parseLong(args[0]) : 10000;
    double limit = args.length > 1 ? Double.parseDouble(args[1]) : Double.POSITIVE_INFINITY;
    long began = System.nanoTime();
    long i = 0;
    for (; i < n && seconds(began) <= limit; i++) {
      hung = 0;
      String bug = iteration.run();
      if (bug != null) {
        end("bug at iteration " + i + ": " + bug, seconds(began) - hung);
        Runtime.getRuntime().halt(1);
      }
    }
    end("no bug in " + i + " iterations", seconds(began));
  }

  /**
   * Iterates over a race whose threads sleep most of the time. Two iterations with the fix go before
   * the first one: what is used for the first time takes longer than the gaps.
   */
  static void periodic(String[] args, Iteration iteration) throws Exception {
    fixed = true;
    for (int i = 0; i < 2; i++) {
      iteration.run();
    }
    fixed = args.length > 2 && args[2].equals("fixed");
    iterate(args, iteration);
  }

  private static double seconds(long since) {
    return (System.nanoTime() - since) / 1e9;
  }

  private static void end(String what, double seconds) {
    System.out.println(what + " (" + String.format(Locale.ROOT, "%.6f", seconds) + " s)");
    System.out.flush();
  }

  /**
   * Runs each task in its own thread; all begin once all have been started, since starting one
   * takes longer than a task. Returns false if one does not end within ten seconds.
   */
  static boolean together(Runnable... tasks) throws InterruptedException {
    Thread[] threads = new Thread[tasks.length];
    CountDownLatch started = new CountDownLatch(tasks.length + 1);
    for (int i = 0; i < tasks.length; i++) {
      Runnable task = tasks[i];
      threads[i] =
          new Thread(
              () -> {
                started.countDown();
                try {
                  started.await();
                } catch (InterruptedException e) {
                  throw new IllegalStateException(e);
                }
                task.run();
              });
      threads[i].setDaemon(true);
      threads[i].start();
    }
    started.countDown();
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(HANG_SECONDS);
    for (Thread t : threads) {
      t.join(Math.max(1, TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime())));
      if (t.isAlive()) {
        hung = HANG_SECONDS;
        return false;
      }
    }
    return true;
  }

  /** The work in a window: about 300 ns on a machine that takes 1 ns per instruction. */
  static void window() {
    work(60);
  }

  /** Sleeps for some milliseconds. */
  static void pause(double ms) {
    try {
      TimeUnit.NANOSECONDS.sleep((long) (ms * 1e6));
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  /**
   * A pause in which a periodic race is vulnerable: the bug shows if the thread is away for longer
   * than it says. The variable RACE_AWAY makes each one so many milliseconds longer.
   */
  public static void gap(double ms) {
    String away = System.getenv("RACE_AWAY");
    pause(away == null ? ms : ms + Double.parseDouble(away));
  }

  /** Some work that no compiler eliminates: about 5 ns a step. */
  static void work(int n) {
    for (int i = 0; i < n; i++) {
      sink = i;
    }
  }
}
