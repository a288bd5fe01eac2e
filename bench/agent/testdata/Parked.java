import java.util.concurrent.CountDownLatch;

/** Parks a number of threads at some depth, prints "parked", and waits for a line on stdin. */
public final class Parked {
  private Parked() {}

  private static volatile long sink;

  private static void work(int rounds) {
    for (int i = 0; i < rounds; i++) {
      long sum = 0;
      for (int k = 0; k < 1_000_000; k++) {
        sum += k ^ sum;
      }
      sink = sum;
    }
  }

  private static int down(int n, int rounds, CountDownLatch ready, CountDownLatch end)
      throws InterruptedException {
    if (n > 0) {
      return down(n - 1, rounds, ready, end) + 1;
    }
    work(rounds);
    ready.countDown();
    end.await();
    return 0;
  }

  /** Parks args[0] threads at depth args[1], each after args[2] rounds of work (1 ms). */
  public static void main(String[] args) throws Exception {
    int count = Integer.parseInt(args[0]);
    int depth = Integer.parseInt(args[1]);
    int rounds = Integer.parseInt(args[2]);
    CountDownLatch ready = new CountDownLatch(count);
    CountDownLatch end = new CountDownLatch(1);
    for (int i = 0; i < count; i++) {
      Thread thread =
          new Thread(
              () -> {
                try {
                  down(depth, rounds, ready, end);
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
