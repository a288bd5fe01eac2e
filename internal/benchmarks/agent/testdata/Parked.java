import java.util.concurrent.CountDownLatch;

/** Keeps as many threads as it is told at some depth, says so, and waits for a line on stdin. */
public final class Parked {
  private Parked() {}

  private static int down(int n, CountDownLatch ready, CountDownLatch end)
      throws InterruptedException {
    if (n > 0) {
      return down(n - 1, ready, end) + 1;
    }
    ready.countDown();
    end.await();
    return 0;
  }

  /** Parks args[0] threads. */
  public static void main(String[] args) throws Exception {
    int count = Integer.parseInt(args[0]);
    CountDownLatch ready = new CountDownLatch(count);
    CountDownLatch end = new CountDownLatch(1);
    for (int i = 0; i < count; i++) {
      Thread thread =
          new Thread(
              () -> {
                try {
                  down(50, ready, end);
                } catch (InterruptedException e) {
                  throw new IllegalStateException(e);
                }
              });
      thread.setDaemon(true);
      thread.start();
    }
    ready.await();
    System.gc();
    System.out.println("parked");
    System.in.read();
  }
}
