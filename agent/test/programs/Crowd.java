import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;

/** Many threads at a time, each with calls of its own; or threads that run out of stack again and again. */
public final class Crowd {
  static final AtomicLong SUM = new AtomicLong();

  static int fib(int n) {
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
  }

  static int endless(int n) {
    return endless(n + 1) + 1;
  }

  static void overflow(int times) {
    for (int i = 0; i < times; i++) {
      try {
        endless(0);
      } catch (StackOverflowError e) {
        SUM.addAndGet(fib(10));
      }
    }
  }

  public static void main(String[] args) throws Exception {
    int threads = Integer.parseInt(args[1]);
    CountDownLatch all = new CountDownLatch(threads);
    Thread[] crowd = new Thread[threads];
    for (int i = 0; i < threads; i++) {
      Runnable work =
          args[0].equals("overflow")
              ? () -> overflow(200)
              : () -> {
                SUM.addAndGet(fib(10));
                all.countDown();
                try {
                  all.await(); // all are alive at once
                } catch (InterruptedException e) {
                  throw new IllegalStateException(e);
                }
                SUM.addAndGet(fib(10));
              };
      crowd[i] = new Thread(work);
      crowd[i].start();
    }
    for (Thread thread : crowd) {
      thread.join();
    }
    long each = args[0].equals("overflow") ? 200 * 55 : 2 * 55;
    if (SUM.get() != threads * each) {
      throw new IllegalStateException("sum " + SUM.get());
    }
    System.out.println("crowd: verified " + threads);
  }
}
