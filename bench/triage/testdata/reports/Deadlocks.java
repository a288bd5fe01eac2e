import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/** Causes in which threads wait for each other. */
final class Deadlocks {
  static long sink;

  static boolean hang(String cause) {
    CountDownLatch two = new CountDownLatch(2);
    CountDownLatch three = new CountDownLatch(3);
    switch (cause) {
      case "monitors":
        Account account = new Account();
        StringBuilder journal = new StringBuilder();
        Hangs.start("teller", () -> account.transfer(journal, two));
        Hangs.start("auditor", () -> account.audit(journal, two));
        return true;
      case "caches":
        StringBuffer near = new StringBuffer();
        Object[] far = {near};
        Hangs.start("loader", () -> Cache.load(near, far, two));
        Hangs.start("evictor", () -> Cache.evict(near, far, two));
        return true;
      case "three":
        Fork[] forks = {new Fork(), new Fork(), new Fork()};
        for (int i = 0; i < 3; i++) {
          int k = i;
          Hangs.start("philosopher", () -> forks[k].eat(forks[(k + 1) % 3], three));
        }
        return true;
      case "locks":
        Lock index = new ReentrantLock();
        Lock store = new ReentrantLock();
        Hangs.start("merger", () -> Segment.merge(index, store, two));
        Hangs.start("flusher", () -> Segment.flush(index, store, two));
        return true;
      case "locks-three":
        Lock[] gates = {new ReentrantLock(true), new ReentrantLock(true), new ReentrantLock(true)};
        for (int i = 0; i < 3; i++) {
          int k = i;
          Hangs.start("train", () -> Segment.cross(gates[k], gates[(k + 1) % 3], three));
        }
        return true;
      case "read-write":
        ReentrantReadWriteLock left = new ReentrantReadWriteLock();
        ReentrantReadWriteLock right = new ReentrantReadWriteLock();
        Hangs.start("replica", () -> Segment.replicate(left, right, two));
        Hangs.start("primary", () -> Segment.commit(left, right, two));
        return true;
      case "mixed":
        Lock table = new ReentrantLock();
        Object row = new Object();
        Hangs.start("writer", () -> Cache.write(table, row, two));
        Hangs.start("reader", () -> Cache.read(table, row, two));
        return true;
      case "jni":
        Object inside = new Object();
        Integer[] outside = {1};
        Hangs.start("sensor", () -> Native.enter(inside, outside, two));
        Hangs.start("motor", () -> Native.leave(inside, outside, two));
        return true;
      case "pool":
        ExecutorService pool = Executors.newFixedThreadPool(2);
        Object orders = new Object();
        StringBuffer stock = new StringBuffer();
        pool.submit(() -> Cache.reserve(orders, stock, two));
        pool.submit(() -> Cache.release(orders, stock, two));
        return true;
      case "initialisers":
        Hangs.start("left", () -> sink += Left.VALUE);
        Hangs.start("right", () -> sink += Right.VALUE);
        return true;
      default:
        return false;
    }
  }

  static void arrive(CountDownLatch ready) {
    ready.countDown();
    try {
      ready.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }
}

class Account {
  synchronized void transfer(StringBuilder journal, CountDownLatch ready) {
    Deadlocks.arrive(ready);
    synchronized (journal) {
      Deadlocks.sink++;
    }
  }

  void audit(StringBuilder journal, CountDownLatch ready) {
    synchronized (journal) {
      Deadlocks.arrive(ready);
      balance();
    }
  }

  synchronized void balance() {
    Deadlocks.sink++;
  }
}

class Fork {
  void eat(Fork other, CountDownLatch ready) {
    synchronized (this) {
      Deadlocks.arrive(ready);
      synchronized (other) {
        Deadlocks.sink++;
      }
    }
  }
}

class Cache {
  static void load(Object near, Object far, CountDownLatch ready) {
    synchronized (near) {
      Deadlocks.arrive(ready);
      synchronized (far) {
        Deadlocks.sink++;
      }
    }
  }

  static void evict(Object near, Object far, CountDownLatch ready) {
    synchronized (far) {
      Deadlocks.arrive(ready);
      synchronized (near) {
        Deadlocks.sink++;
      }
    }
  }

  static void write(Lock table, Object row, CountDownLatch ready) {
    table.lock();
    Deadlocks.arrive(ready);
    synchronized (row) {
      Deadlocks.sink++;
    }
  }

  static void read(Lock table, Object row, CountDownLatch ready) {
    synchronized (row) {
      Deadlocks.arrive(ready);
      table.lock();
    }
  }

  static void reserve(Object orders, Object stock, CountDownLatch ready) {
    synchronized (orders) {
      Deadlocks.arrive(ready);
      synchronized (stock) {
        Deadlocks.sink++;
      }
    }
  }

  static void release(Object orders, Object stock, CountDownLatch ready) {
    synchronized (stock) {
      Deadlocks.arrive(ready);
      synchronized (orders) {
        Deadlocks.sink++;
      }
    }
  }
}

class Segment {
  static void merge(Lock index, Lock store, CountDownLatch ready) {
    index.lock();
    Deadlocks.arrive(ready);
    store.lock();
  }

  static void flush(Lock index, Lock store, CountDownLatch ready) {
    store.lock();
    Deadlocks.arrive(ready);
    index.lock();
  }

  static void cross(Lock mine, Lock next, CountDownLatch ready) {
    mine.lock();
    Deadlocks.arrive(ready);
    next.lock();
  }

  static void replicate(
      ReentrantReadWriteLock left, ReentrantReadWriteLock right, CountDownLatch ready) {
    left.writeLock().lock();
    Deadlocks.arrive(ready);
    right.writeLock().lock();
  }

  static void commit(
      ReentrantReadWriteLock left, ReentrantReadWriteLock right, CountDownLatch ready) {
    right.writeLock().lock();
    Deadlocks.arrive(ready);
    left.writeLock().lock();
  }
}

/** Monitors that native code enters (hang.c). */
class Native {
  static void enter(Object inside, Object outside, CountDownLatch ready) {
    synchronized (inside) {
      Deadlocks.arrive(ready);
      lock(outside);
    }
  }

  static void leave(Object inside, Object outside, CountDownLatch ready) {
    lock(outside);
    Deadlocks.arrive(ready);
    lock(inside);
  }

  static native void lock(Object monitor);

  static native void stall();

  static native void poll();
}

class Left {
  static final int VALUE = start();

  static int start() {
    Waits.pause(200);
    return Right.VALUE + 1;
  }
}

class Right {
  static final int VALUE = begin();

  static int begin() {
    Waits.pause(200);
    return Left.VALUE + 1;
  }
}
