package misstep.workloads.upcalls;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import misstep.workloads.Harness;
import misstep.workloads.ValidationException;
import misstep.workloads.Workload;

/**
 * Makes the VM call Java by itself, or has unusual frames on the stack: class loaders that fail,
 * JFR's events, implicit exceptions, linkage, ends of threads. Three threads do all parts in an
 * order drawn from the seed.
 */
public final class Main {
  private static final int THREADS = 3;

  private Main() {}

  /**
   * Runs the workload.
   *
   * @param args how often each thread runs every part in one repetition; the seed
   */
  public static void main(String[] args) {
    Harness.run(new Upcalls(Harness.argument(args, 0, 12), Harness.argument(args, 1, 7)));
  }

  private static final class Upcalls implements Workload {
    private final int rounds;
    private final long seed;
    private final List<Named> parts = parts();

    Upcalls(int rounds, long seed) {
      this.rounds = rounds;
      this.seed = seed;
    }

    @Override
    public void repetition(int index, Path scratch) throws Exception {
      ExecutorService threads = Executors.newFixedThreadPool(THREADS);
      try {
        List<Future<Long>> sums = new ArrayList<>();
        for (int i = 0; i < THREADS; i++) {
          long own = seed + 1_000L * index + i;
          sums.add(threads.submit(() -> work(own)));
        }
        long expected = 0;
        for (Named part : parts) {
          expected += rounds * part.count;
        }
        for (Future<Long> sum : sums) {
          ValidationException.equal("sum of a thread's counts", expected, sum.get());
        }
        Watches.global();
      } catch (ExecutionException e) {
        if (e.getCause() instanceof ValidationException) {
          throw (ValidationException) e.getCause();
        }
        throw e;
      } finally {
        threads.shutdownNow();
      }
    }

    private long work(long own) throws Exception {
      Random random = new Random(own);
      List<Named> order = new ArrayList<>(parts);
      long sum = 0;
      for (int i = 0; i < rounds; i++) {
        Collections.shuffle(order, random);
        for (Named part : order) {
          long count = part.part.run(random.nextLong());
          ValidationException.equal("count of " + part.name, part.count, count);
          sum += count;
        }
      }
      return sum;
    }
  }

  private static List<Named> parts() {
    List<Named> parts = new ArrayList<>();
    parts.add(new Named("failing loaders", Failing.COUNT, new Failing()));
    parts.add(new Named("implicit exceptions", Implicit.COUNT, new Implicit()));
    parts.add(new Named("linkage", Linkage.COUNT, new Linkage()));
    parts.add(new Named("reflection", Reflection.COUNT, new Reflection()));
    parts.add(new Named("serialization", Serialized.COUNT, new Serialized()));
    parts.add(new Named("threads", Threads.COUNT, new Threads()));
    parts.add(new Named("references", References.COUNT, new References()));
    parts.add(new Named("watches", Watches.COUNT, new Watches()));
    parts.add(new Named("frames", Frames.COUNT, new Frames()));
    if (jfr()) {
      parts.add(new Named("events", Events.COUNT, new Events()));
    } else {
      System.out.println("upcalls: no events, this JDK has no JFR");
    }
    return parts;
  }

  private static boolean jfr() {
    try {
      Class.forName("jdk.jfr.Recording");
      return Events.available();
    } catch (ClassNotFoundException | LinkageError e) {
      return false;
    }
  }

  private static final class Named {
    final String name;
    final long count;
    final Part part;

    Named(String name, long count, Part part) {
      this.name = name;
      this.count = count;
      this.part = part;
    }
  }
}
