import java.util.concurrent.TimeUnit;

/** What the planted races share: iterations of a few threads, with a deadline that makes a hang a finding. */
final class Race {
  /** One iteration's bug, or null. */
  interface Iteration {
    String run() throws Exception;
  }

  private static volatile int sink;

  private Race() {}

  static void iterate(String[] args, Iteration iteration) throws Exception {
    long n = args.length > 0 ? Long.parseLong(args[0]) : 10000;
    for (long i = 0; i < n; i++) {
      String bug = iteration.run();
      if (bug != null) {
        System.out.println("bug at iteration " + i + ": " + bug);
        System.out.flush();
        Runtime.getRuntime().halt(1);
      }
    }
    System.out.println("no bug in " + n + " iterations");
  }

  /** Runs the tasks in threads of their own; false when one does not end within ten seconds. */
  static boolean together(Runnable... tasks) throws InterruptedException {
    Thread[] threads = new Thread[tasks.length];
    for (int i = 0; i < tasks.length; i++) {
      threads[i] = new Thread(tasks[i]);
      threads[i].setDaemon(true);
      threads[i].start();
    }
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(10);
    for (Thread t : threads) {
      t.join(Math.max(1, TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime())));
      if (t.isAlive()) {
        return false;
      }
    }
    return true;
  }

  /** Some work that no compiler takes away. */
  static void work(int n) {
    for (int i = 0; i < n; i++) {
      sink = i;
    }
  }
}
