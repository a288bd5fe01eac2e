package misstep.workloads.vthread;

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.LockSupport;
import misstep.workloads.Harness;
import misstep.workloads.ValidationException;

/**
 * Virtual threads yield at depth. When one resumes, only its topmost frames are on the carrier's
 * stack; the others are still frozen in the heap and are thawed one by one on return.
 */
public final class Main {
  private static final int DEPTH = 40;

  private Main() {}

  /**
   * Runs the workload.
   *
   * @param args virtual threads at a time, rounds of each
   */
  public static void main(String[] args) {
    int threads = Harness.argument(args, 0, 64);
    int rounds = Harness.argument(args, 1, 400);
    Harness.run(
        (index, scratch) -> {
          List<CompletableFuture<Long>> results = new ArrayList<>();
          for (int i = 0; i < threads; i++) {
            int number = i;
            results.add(start(() -> rounds(number, rounds)));
          }
          long sum = 0;
          for (var result : results) {
            sum += result.get();
          }
          // Each round adds 1 at each level, and the 8th Fibonacci number, 21, at its bottom and at
          // each fourth level.
          long levels = DEPTH + 1;
          long calls = 1 + DEPTH / 4;
          ValidationException.equal("sum", (long) threads * rounds * (levels + 21 * calls), sum);
        });
  }

  private interface Task {
    long run();
  }

  /** Starts a virtual thread; by reflection, since this is compiled for 17 as well. */
  private static CompletableFuture<Long> start(Task task) {
    var result = new CompletableFuture<Long>();
    Runnable body =
        () -> {
          try {
            result.complete(task.run());
          } catch (Throwable e) {
            result.completeExceptionally(e);
          }
        };
    try {
      Method starter = Thread.class.getMethod("startVirtualThread", Runnable.class);
      starter.invoke(null, body);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("this JDK has no virtual threads; take 21 or newer", e);
    }
    return result;
  }

  private static long rounds(int number, int rounds) {
    long sum = 0;
    for (int i = 0; i < rounds; i++) {
      sum += down(DEPTH, number + i);
    }
    return sum;
  }

  private static long down(int depth, int round) {
    if (depth == 0) {
      if (round % 16 == 0) {
        LockSupport.parkNanos(1000);
      } else {
        Thread.yield();
      }
      // Above frames that are frozen.
      return 1 + fibonacci(8);
    }
    long below = down(depth - 1, round);
    // On return: the frames below this one are thawed from the heap.
    return below + 1 + (depth % 4 == 0 ? fibonacci(8) : 0);
  }

  private static long fibonacci(int n) {
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
  }
}
