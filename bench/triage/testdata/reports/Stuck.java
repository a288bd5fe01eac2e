import java.io.InputStream;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.Exchanger;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.FutureTask;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Phaser;
import java.util.concurrent.RecursiveTask;
import java.util.concurrent.Semaphore;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.StampedLock;

/** Threads that wait for messages. */
class Mailbox {
  static void take() throws InterruptedException {
    Object box = new Object();
    synchronized (box) {
      box.notifyAll();
      box.wait();
    }
  }

  static void confirm() throws Exception {
    new CompletableFuture<String>().thenApply(String::trim).get();
  }

  static void report() throws Exception {
    new FutureTask<>(() -> 1).get();
  }
}

class Gates {
  private static final Object HELD = new Object();

  static void awaitStartup() throws Exception {
    new CountDownLatch(1).await();
  }

  static void awaitVirtual() throws Exception {
    new CountDownLatch(1).await();
  }

  static void acquirePermit() throws Exception {
    new Semaphore(0).acquire();
  }

  static void meet() throws Exception {
    new CyclicBarrier(2).await();
  }

  static void advance() {
    new Phaser(2).arriveAndAwaitAdvance();
  }

  static void trade() throws Exception {
    new Exchanger<String>().exchange("x");
  }

  static void open() throws Exception {
    ReentrantLock lock = new ReentrantLock();
    Condition full = lock.newCondition();
    lock.lock();
    full.await();
  }

  static void shutDown(Thread t) throws Exception {
    t.join();
  }

  static void pass() {
    while (true) {
      LockSupport.park(HELD);
    }
  }

  static void stamp() {
    StampedLock lock = new StampedLock();
    lock.writeLock();
    lock.writeLock();
  }

  static void inherit(ReentrantLock leaked) {
    leaked.lock();
  }

  static void neverFlush() {
    Waits.pause(1_000_000);
  }

  static void pinned() throws Exception {
    synchronized (HELD) {
      Native.stall();
    }
  }

  /** Its finalizer never ends. */
  static class Leaky {
    static void make() {
      new Leaky();
      for (int i = 0; i < 5; i++) {
        System.gc();
        Waits.pause(50);
      }
    }

    @Override
    @SuppressWarnings({"deprecation", "removal"})
    protected void finalize() throws Throwable {
      new CountDownLatch(1).await();
    }
  }
}

class Queues {
  static void deliver() throws Exception {
    new SynchronousQueue<String>().put("x");
  }

  static void produce() throws Exception {
    ArrayBlockingQueue<String> queue = new ArrayBlockingQueue<>(1);
    queue.put("x");
    queue.put("y");
  }

  static void poll() throws Exception {
    new LinkedBlockingQueue<String>().take();
  }

  static void pollVirtual() throws Exception {
    new LinkedBlockingQueue<String>().take();
  }
}

class Loops {
  static void backOff() throws Exception {
    for (long pause = 1_000_000; ; pause *= 2) {
      Thread.sleep(pause);
    }
  }

  static Object stage(ExecutorService pool) throws Exception {
    Thread.sleep(100);
    return pool.submit(() -> 1).get();
  }

  static void parse() {
    int depth = 1;
    while (depth > 0) {
      Waits.sink += depth;
    }
  }

  static void probe(int[] table) {
    int at = 0;
    while (table[at] == 0) {
      at = (at + 1) % table.length;
    }
  }

  static void refresh(Object registry) {
    synchronized (registry) {
      while (true) {
        Waits.sink++;
      }
    }
  }

  static void lookUp(Object registry) {
    synchronized (registry) {
      Waits.sink++;
    }
  }

  static void spin() {
    while (true) {
      Waits.sink++;
    }
  }

  /** A task that waits for one that nobody runs. */
  static class Knot extends RecursiveTask<Integer> {
    @Override
    protected Integer compute() {
      return new CompletableFuture<Integer>().join();
    }
  }
}

class Channels {
  static void readLine(InputStream in) throws Exception {
    in.read();
  }

  static void runChild() throws Exception {
    new ProcessBuilder("sleep", "30").start().waitFor();
  }
}
