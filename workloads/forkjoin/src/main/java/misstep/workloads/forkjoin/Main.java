package misstep.workloads.forkjoin;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.RecursiveAction;
import java.util.concurrent.RecursiveTask;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import misstep.workloads.Harness;
import misstep.workloads.ValidationException;

/** Sorts, sums and counts with fork-join tasks, parallel streams and completable futures. */
public final class Main {
  private static final int PARALLELISM = 4;

  private Main() {}

  /**
   * Runs the workload.
   *
   * @param args number of values, seed
   */
  public static void main(String[] args) {
    int size = Harness.argument(args, 0, 2_000_000);
    int seed = Harness.argument(args, 1, 7);
    Harness.run(
        (index, scratch) -> {
          ForkJoinPool pool = new ForkJoinPool(PARALLELISM);
          try {
            sort(pool, size, seed + index);
            sum(pool, size);
            ValidationException.equal(
                "ways to place 9 queens", 352, pool.invoke(new Queens(9, 0, 0, 0, 0)));
            pool.submit(
                    () -> {
                      streams(size);
                      return null;
                    })
                .get();
            futures(pool);
          } finally {
            pool.shutdownNow();
          }
        });
  }

  private static void sort(ForkJoinPool pool, int size, long seed) throws ValidationException {
    int[] values = new SplittableRandom(seed).ints(size).toArray();
    long before = Arrays.stream(values).asLongStream().sum();
    pool.invoke(new MergeSort(values, 0, size, new int[size]));
    for (int i = 1; i < size; i++) {
      if (values[i - 1] > values[i]) {
        throw new ValidationException("values " + (i - 1) + " and " + i + " are not in order");
      }
    }
    ValidationException.equal(
        "sum after sorting", before, Arrays.stream(values).asLongStream().sum());
  }

  private static void sum(ForkJoinPool pool, long n) throws ValidationException {
    ValidationException.equal("sum", n * (n + 1) / 2, pool.invoke(new Sum(1, n)));
  }

  private static void streams(int n) throws ValidationException {
    long squares = LongStream.rangeClosed(1, 1000).parallel().map(i -> i * i).sum();
    ValidationException.equal("sum of squares", 1000L * 1001 * 2001 / 6, squares);
    Map<Integer, Long> groups =
        IntStream.range(0, n / 4)
            .parallel()
            .boxed()
            .collect(Collectors.groupingByConcurrent(i -> i % 7, Collectors.counting()));
    ValidationException.equal("groups", 7, groups.size());
    ValidationException.equal(
        "members", n / 4, groups.values().stream().mapToLong(Long::longValue).sum());
    long primes =
        IntStream.rangeClosed(2, 50_000)
            .parallel()
            .filter(i -> IntStream.rangeClosed(2, (int) Math.sqrt(i)).noneMatch(d -> i % d == 0))
            .count();
    // Known: there are 5133 primes up to 50,000.
    ValidationException.equal("primes", 5133, primes);
  }

  private static void futures(ForkJoinPool pool) throws ValidationException {
    CompletableFuture<Long> chain = CompletableFuture.completedFuture(0L);
    for (int i = 1; i <= 2000; i++) {
      long number = i;
      chain =
          chain.thenCombineAsync(
              CompletableFuture.supplyAsync(() -> number, pool), Long::sum, pool);
    }
    ValidationException.equal("sum of the futures", 2000L * 2001 / 2, chain.join());
  }

  private static final class Sum extends RecursiveTask<Long> {
    private static final long serialVersionUID = 1L;
    private final long low;
    private final long high;

    Sum(long low, long high) {
      this.low = low;
      this.high = high;
    }

    @Override
    protected Long compute() {
      if (high - low < 64) {
        return LongStream.rangeClosed(low, high).sum();
      }
      long middle = (low + high) >>> 1;
      Sum left = new Sum(low, middle);
      Sum right = new Sum(middle + 1, high);
      left.fork();
      return right.compute() + left.join();
    }
  }

  private static final class MergeSort extends RecursiveAction {
    private static final long serialVersionUID = 1L;
    private final transient int[] values;
    private final transient int[] spare;
    private final int from;
    private final int to;

    MergeSort(int[] values, int from, int to, int[] spare) {
      this.values = values;
      this.from = from;
      this.to = to;
      this.spare = spare;
    }

    @Override
    protected void compute() {
      if (to - from < 512) {
        Arrays.sort(values, from, to);
        return;
      }
      int middle = (from + to) >>> 1;
      invokeAll(
          new MergeSort(values, from, middle, spare), new MergeSort(values, middle, to, spare));
      System.arraycopy(values, from, spare, from, to - from);
      int left = from;
      int right = middle;
      for (int i = from; i < to; i++) {
        boolean takeLeft = right >= to || left < middle && spare[left] <= spare[right];
        values[i] = takeLeft ? spare[left++] : spare[right++];
      }
    }
  }

  private static final class Queens extends RecursiveTask<Long> {
    private static final long serialVersionUID = 1L;
    private final int size;
    private final int row;
    private final int columns;
    private final int rising;
    private final int falling;

    Queens(int size, int row, int columns, int rising, int falling) {
      this.size = size;
      this.row = row;
      this.columns = columns;
      this.rising = rising;
      this.falling = falling;
    }

    @Override
    protected Long compute() {
      if (row == size) {
        return 1L;
      }
      List<Queens> tasks =
          IntStream.range(0, size)
              .map(column -> 1 << column)
              .filter(bit -> ((columns | rising | falling) & bit) == 0)
              .mapToObj(
                  bit ->
                      new Queens(
                          size, row + 1, columns | bit, (rising | bit) << 1, (falling | bit) >>> 1))
              .collect(Collectors.toList());
      return invokeAll(tasks).stream().mapToLong(Queens::join).sum();
    }
  }
}
