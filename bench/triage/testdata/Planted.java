import java.lang.reflect.Field;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;

/** Crashes or hangs in the way that the first argument selects. Its native half is planted.c. */
public final class Planted {
  static volatile long sink;

  static native void writeNull();

  static native void readWild();

  static native void overflowStack();

  static native void crashInNativeThread();

  static native void abortInCleanup();

  static native void abortInFlush();

  static native void divide();

  static native void abortInParse();

  static native void signalThread(String name);

  public static void main(String[] args) throws Exception {
    if (args.length > 1) {
      System.load(args[1]);
    }
    switch (args[0]) {
      case "unsafe-write":
        storeCounter(unsafe());
        break;
      case "unsafe-write-elsewhere":
        flushBuffer(unsafe());
        break;
      case "unsafe-read":
        sink = unsafe().getLong(8);
        break;
      case "unsafe-write-table":
        growTable(unsafe(), 3);
        break;
      case "jni-divide":
        divide();
        break;
      case "jni-abort-parse":
        abortInParse();
        break;
      case "jni-write":
        writeNull();
        break;
      case "jni-read":
        readWild();
        break;
      case "jni-stack":
        overflowStack();
        break;
      case "jni-thread":
        crashInNativeThread();
        Thread.sleep(60_000);
        break;
      case "jni-abort-cleanup":
        abortInCleanup();
        break;
      case "jni-abort-flush":
        abortInFlush();
        break;
      case "signal":
        signalThread(args[2]);
        Thread.sleep(60_000);
        break;
      case "deadlock-monitors":
        deadlockMonitors();
        break;
      case "deadlock-locks":
        deadlockLocks();
        break;
      case "deadlock-three":
        deadlockThree();
        break;
      case "lost-notify":
        lostNotify();
        break;
      case "latch":
        new CountDownLatch(1).await();
        break;
      case "spin-parser":
        spinParser();
        break;
      case "spin-queue":
        spinQueue();
        break;
      case "safepoint-digest":
        for (int i = 0; i < 20_000; i++) sink += digest(100);
        while (true) sink += digest(Integer.MAX_VALUE);
      case "safepoint-search":
        for (int i = 0; i < 20_000; i++) sink += search(100);
        while (true) sink += search(Integer.MAX_VALUE);
      case "deadlock-pool":
        deadlockPool();
        break;
      case "permit":
        new Semaphore(0).acquire();
        break;
      case "join":
        Thread waiting = new Thread(Planted::idle, "idle");
        waiting.start();
        waiting.join();
        break;
      case "spin-index":
        spinIndex(new int[7]);
        break;
      case "sleep":
        while (true) sink++;
      default:
        throw new IllegalArgumentException(args[0]);
    }
    System.out.println("misstep: planted verified 1 repetitions");
  }

  private static sun.misc.Unsafe unsafe() throws Exception {
    Field field = sun.misc.Unsafe.class.getDeclaredField("theUnsafe");
    field.setAccessible(true);
    return (sun.misc.Unsafe) field.get(null);
  }

  private static void storeCounter(sun.misc.Unsafe unsafe) {
    unsafe.putAddress(0, 0);
  }

  private static void flushBuffer(sun.misc.Unsafe unsafe) {
    unsafe.putAddress(16, 1);
  }

  private static void growTable(sun.misc.Unsafe unsafe, int depth) {
    if (depth > 0) {
      growTable(unsafe, depth - 1);
    }
    unsafe.putInt(4L, 1);
  }

  private static Thread locker(String name, Object mine, Object yours, CountDownLatch ready) {
    Thread t =
        new Thread(
            () -> {
              synchronized (mine) {
                arrive(ready);
                synchronized (yours) {
                  sink++;
                }
              }
            },
            name);
    t.start();
    return t;
  }

  private static void arrive(CountDownLatch ready) {
    ready.countDown();
    try {
      ready.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  private static void deadlockMonitors() throws Exception {
    Object accounts = new Object();
    StringBuilder journal = new StringBuilder();
    CountDownLatch ready = new CountDownLatch(2);
    locker("teller", accounts, journal, ready);
    locker("auditor", journal, accounts, ready).join();
  }

  private static void deadlockThree() throws Exception {
    Object[] forks = {new Object(), new Object(), new Object()};
    CountDownLatch ready = new CountDownLatch(3);
    Thread last = null;
    for (int i = 0; i < 3; i++) {
      last = locker("philosopher-" + i, forks[i], forks[(i + 1) % 3], ready);
    }
    last.join();
  }

  private static void deadlockLocks() throws Exception {
    Lock index = new ReentrantLock();
    Lock store = new ReentrantLock();
    CountDownLatch ready = new CountDownLatch(2);
    Thread t = new Thread(() -> merge(store, index, ready), "merger");
    t.start();
    new Thread(() -> merge(index, store, ready), "reader").start();
    t.join();
  }

  private static void merge(Lock mine, Lock yours, CountDownLatch ready) {
    mine.lock();
    arrive(ready);
    yours.lock();
  }

  private static void deadlockPool() throws Exception {
    Object orders = new Object();
    StringBuffer stock = new StringBuffer();
    CountDownLatch ready = new CountDownLatch(2);
    ExecutorService pool = Executors.newFixedThreadPool(2);
    pool.submit(() -> reserve(orders, stock, ready));
    pool.submit(() -> reserve(stock, orders, ready)).get();
  }

  private static void reserve(Object mine, Object yours, CountDownLatch ready) {
    synchronized (mine) {
      arrive(ready);
      synchronized (yours) {
        sink++;
      }
    }
  }

  private static void idle() {
    try {
      Thread.sleep(1_000_000);
    } catch (InterruptedException e) {
      sink++;
    }
  }

  private static void spinIndex(int[] table) {
    int at = 0;
    while (table[at] == 0) {
      at = (at + 1) % table.length;
    }
  }

  private static void lostNotify() throws InterruptedException {
    Object box = new Object();
    synchronized (box) {
      box.notifyAll();
      box.wait();
    }
  }

  private static void spinParser() {
    int depth = 1;
    while (depth > 0) {
      sink += depth;
    }
  }

  private static void spinQueue() {
    long head = 0;
    while (head >= 0) {
      head = Math.abs(sink++ % 7);
    }
  }

  /**
   * Compiled by C2 without polls in counted loops, it cannot be stopped; the division prevents the
   * loop's replacement by a formula.
   */
  private static int digest(int n) {
    int x = 1_000_003;
    for (int i = 1; i < n; i++) x = (x ^ i) / ((x & 7) + 1) + 1_000_003;
    return x;
  }

  private static int search(int n) {
    int x = 77;
    for (int i = 1; i < n; i++) x = 31 * x % ((i & 15) + 3) + 5;
    return x;
  }
}
