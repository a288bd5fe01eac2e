package misstep.workloads.libraries;

import java.util.concurrent.CyclicBarrier;

/** Two threads that begin together. */
final class Pair {
  private static long hangSeconds = 10;

  /** What a thread does. */
  interface Step {
    void run() throws Exception;
  }

  private Pair() {}

  /** Sets after how many seconds a thread that has not ended counts as one that hangs. */
  static void hangSeconds(long seconds) {
    hangSeconds = seconds;
  }

  /**
   * Runs two steps at once.
   *
   * @return what went wrong: an exception, or that they did not end in time; null if nothing
   */
  static String run(Step first, Step second) throws Exception {
    CyclicBarrier start = new CyclicBarrier(2);
    Throwable[] thrown = new Throwable[1];
    Thread[] threads = {
      thread("first", first, start, thrown), thread("second", second, start, thrown)
    };
    for (Thread thread : threads) {
      thread.start();
    }
    for (Thread thread : threads) {
      thread.join(1000 * hangSeconds);
      if (thread.isAlive()) {
        StackTraceElement[] stack = thread.getStackTrace();
        return "the thread "
            + thread.getName()
            + " hangs in "
            + (stack.length == 0 ? "?" : stack[0]);
      }
    }
    return thrown[0] == null ? null : thrown[0].toString();
  }

  private static Thread thread(String name, Step step, CyclicBarrier start, Throwable[] thrown) {
    Thread thread =
        new Thread(
            () -> {
              try {
                start.await();
                step.run();
              } catch (Exception | Error e) {
                thrown[0] = e;
              }
            },
            name);
    thread.setDaemon(true);
    return thread;
  }
}
