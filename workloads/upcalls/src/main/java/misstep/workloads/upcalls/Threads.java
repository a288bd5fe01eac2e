package misstep.workloads.upcalls;

import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/**
 * Ends of threads by exceptions, interrupts in waits, contended monitors and executors that shut
 * down.
 */
final class Threads implements Part {
  private static final int ENTRIES = 400;
  static final long COUNT = 3 + 3 + 2 * ENTRIES + 10;

  @Override
  public long run(long seed) throws InterruptedException {
    return uncaught() + interrupts() + monitors() + executor();
  }

  private static final class Group extends ThreadGroup {
    private final AtomicInteger count;

    Group(AtomicInteger count) {
      super("upcalls");
      this.count = count;
    }

    @Override
    public void uncaughtException(Thread thread, Throwable thrown) {
      count.incrementAndGet();
    }
  }

  private static int uncaught() throws InterruptedException {
    AtomicInteger count = new AtomicInteger();
    Thread byHandler = new Thread(() -> fail(5));
    byHandler.setUncaughtExceptionHandler((thread, thrown) -> count.incrementAndGet());
    Thread byGroup = new Thread(new Group(count), () -> fail(9));
    Thread twice = new Thread(() -> fail(3));
    // The VM prints a handler's exceptions to stderr, so the handler catches its own.
    twice.setUncaughtExceptionHandler(
        (thread, thrown) -> {
          try {
            fail(2);
          } catch (IllegalStateException e) {
            count.incrementAndGet();
          }
        });
    Thread[] all = {byHandler, byGroup, twice};
    for (Thread thread : all) {
      thread.start();
    }
    for (Thread thread : all) {
      thread.join();
    }
    return count.get();
  }

  private static void fail(int depth) {
    if (depth == 0) {
      throw new IllegalStateException("as planned");
    }
    fail(depth - 1);
  }

  private static int interrupts() throws InterruptedException {
    AtomicInteger count = new AtomicInteger();
    Object monitor = new Object();
    Thread waits =
        new Thread(
            () -> {
              try {
                synchronized (monitor) {
                  while (true) {
                    monitor.wait();
                  }
                }
              } catch (InterruptedException e) {
                count.incrementAndGet();
              }
            });
    Thread sleeps =
        new Thread(
            () -> {
              try {
                Thread.sleep(600_000);
              } catch (InterruptedException e) {
                count.incrementAndGet();
              }
            });
    Thread parks =
        new Thread(
            () -> {
              ThreadLocal<long[]> local = ThreadLocal.withInitial(() -> new long[8]);
              while (!Thread.currentThread().isInterrupted()) {
                LockSupport.park(monitor);
              }
              count.addAndGet(local.get().length / 8);
            });
    Thread[] all = {waits, sleeps, parks};
    for (Thread thread : all) {
      thread.start();
    }
    Thread.sleep(1);
    for (Thread thread : all) {
      thread.interrupt();
    }
    for (Thread thread : all) {
      thread.join();
    }
    return count.get();
  }

  private static final class Counter {
    private int value;

    synchronized void add() {
      value++;
      if (value % 64 == 0) {
        Thread.yield();
      }
    }
  }

  private static int monitors() throws InterruptedException {
    Counter counter = new Counter();
    Runnable adds =
        () -> {
          for (int i = 0; i < ENTRIES; i++) {
            counter.add();
          }
        };
    Thread other = new Thread(adds);
    other.start();
    adds.run();
    other.join();
    synchronized (counter) {
      return counter.value;
    }
  }

  private static int executor() throws InterruptedException {
    AtomicInteger count = new AtomicInteger();
    ExecutorService executor = Executors.newFixedThreadPool(2);
    for (int i = 0; i < 10; i++) {
      executor.execute(
          () -> {
            count.incrementAndGet();
          });
    }
    executor.shutdown();
    if (!executor.awaitTermination(600, TimeUnit.SECONDS)) {
      throw new IllegalStateException("the executor did not end");
    }
    return count.get();
  }
}
