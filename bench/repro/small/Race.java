import java.lang.reflect.Field;

/**
 * Replaces the class of workloads/races: its bug ends the JVM with a wild pointer. For a
 * runner that is a crash, whereas an exit code is the application's own failure.
 */
final class Race {
  /** One iteration's bug, or null. */
  interface Iteration {
    String run() throws Exception;
  }

  private static final int HANG_MILLIS = 2000;

  private static volatile int sink;

  private Race() {}

  static void iterate(String[] args, Iteration iteration) throws Exception {
    long n = Long.parseLong(args[0]);
    for (long i = 0; i < n; i++) {
      if (iteration.run() != null) {
        crash();
      }
    }
    Small.end();
  }

  private static void crash() throws ReflectiveOperationException {
    Class<?> unsafe = Class.forName("sun.misc.Unsafe");
    Field instance = unsafe.getDeclaredField("theUnsafe");
    instance.setAccessible(true);
    unsafe.getMethod("putLong", long.class, long.class).invoke(instance.get(null), 0L, 0L);
  }

  /** Runs each task in its own thread; returns false if one does not end in time. */
  static boolean together(Runnable... tasks) throws InterruptedException {
    Thread[] threads = new Thread[tasks.length];
    for (int i = 0; i < tasks.length; i++) {
      threads[i] = new Thread(tasks[i]);
      threads[i].setDaemon(true);
      threads[i].start();
    }
    for (Thread t : threads) {
      t.join(HANG_MILLIS);
      if (t.isAlive()) {
        return false;
      }
    }
    return true;
  }

  /** Some work that no compiler eliminates. */
  static void work(int n) {
    for (int i = 0; i < n; i++) {
      sink = i;
    }
  }
}
