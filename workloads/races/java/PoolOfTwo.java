import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** Tasks of a pool of two threads wait for tasks that they give to the same pool. */
final class PoolOfTwo {
  private PoolOfTwo() {}

  public static void main(String[] args) throws Exception {
    Race.periodic(
        args,
        () -> {
          ExecutorService pool = Executors.newFixedThreadPool(2, PoolOfTwo::daemon);
          ExecutorService inner =
              Race.fixed ? Executors.newFixedThreadPool(2, PoolOfTwo::daemon) : pool;
          boolean ended =
              Race.together(
                  () -> outer(pool, inner, 1), // over 12 ms before the other begins
                  () -> outer(pool, inner, 15));
          pool.shutdownNow();
          inner.shutdownNow();
          return ended ? null : "it hangs";
        });
  }

  private static void outer(ExecutorService pool, ExecutorService inner, int delay) {
    Race.pause(delay);
    try {
      pool.submit(
              () -> {
                Race.gap(1);
                return inner.submit(() -> Race.work(50)).get();
              })
          .get();
    } catch (Exception e) {
      if (!Thread.currentThread().isDaemon()) {
        throw new IllegalStateException(e);
      }
    }
  }

  private static Thread daemon(Runnable r) {
    Thread t = new Thread(r);
    t.setDaemon(true);
    return t;
  }
}
