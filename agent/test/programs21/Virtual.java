import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Virtual threads that call, and that yield at depth when told to. For JDK 21 and later. */
public final class Virtual {
  static int fib(int n) {
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
  }

  static int deep(int n, boolean yield) {
    if (n == 0) {
      if (yield) {
        Thread.yield();
      }
      return fib(10);
    }
    return deep(n - 1, yield) + 1;
  }

  /** So many threads that all are alive at once, and have called. */
  static void parked(int threads) throws Exception {
    CountDownLatch all = new CountDownLatch(threads);
    try (ExecutorService executor = Executors.newVirtualThreadPerTaskExecutor()) {
      List<Future<Integer>> futures = new ArrayList<>();
      for (int i = 0; i < threads; i++) {
        futures.add(
            executor.submit(
                () -> {
                  int sum = fib(10);
                  all.countDown();
                  all.await();
                  return sum;
                }));
      }
      for (Future<Integer> future : futures) {
        if (future.get() != 55) {
          throw new AssertionError("wrong sum");
        }
      }
    }
    System.out.println("virtual: verified " + threads);
  }

  public static void main(String[] args) throws Exception {
    Span span = new Span(args, 0, 1);
    if (args[1].equals("parked")) {
      parked(Integer.parseInt(args[2]));
      return;
    }
    boolean yield = args[1].equals("yield");
    long count = 0;
    do {
      try (ExecutorService executor = Executors.newVirtualThreadPerTaskExecutor()) {
        List<Future<Integer>> futures = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
          int depth = i % 50;
          futures.add(executor.submit(() -> deep(depth, yield)));
        }
        for (int i = 0; i < 100; i++) {
          if (futures.get(i).get() != 55 + i % 50) {
            throw new AssertionError("wrong sum");
          }
        }
      }
      count += 100;
    } while (!span.over());
    System.out.println("virtual: verified " + count + " threads");
  }
}
