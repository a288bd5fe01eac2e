import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * A registry's lock is held while a task of a single thread is awaited; a task before it takes the same lock.
 */
final class RegistryCall {
  private RegistryCall() {}

  public static void main(String[] args) throws Exception {
    Race.periodic(
        args,
        () -> {
          Object registry = new Object();
          ExecutorService single = Executors.newSingleThreadExecutor(RegistryCall::daemon);
          Race.pause(1);
          single.execute(
              () -> {
                Race.gap(1); // the caller comes 14 ms later
                synchronized (registry) {
                  Race.work(50);
                }
              });
          boolean ended =
              Race.together(
                  () -> {
                    Race.pause(15);
                    if (Race.fixed) {
                      Future<?> answer = single.submit(() -> Race.work(50));
                      get(answer);
                      return;
                    }
                    synchronized (registry) {
                      get(single.submit(() -> Race.work(50)));
                    }
                  });
          single.shutdownNow();
          return ended ? null : "it hangs";
        });
  }

  private static void get(Future<?> answer) {
    try {
      answer.get();
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  private static Thread daemon(Runnable r) {
    Thread t = new Thread(r);
    t.setDaemon(true);
    return t;
  }
}
