package misstep.workloads.epochs.fresh;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.function.LongSupplier;
import misstep.workloads.epochs.Steps;

/** Allocates, sorts, throws and locks, so that each kind of event has stacks of fresh classes. */
public final class Task implements Steps {
  /** Redefinition writes a version of the same length over it. */
  private static final String VERSION = "version 0";

  private static final Object LOCK = new Object();

  private long sink;

  /** Is called by the loader. */
  public Task() {}

  @Override
  public long run(int steps, Runnable half) {
    long done = 0;
    for (int i = 0; i < steps; i++) {
      if (i == steps / 2) {
        half.run();
      }
      LongSupplier step = i % 3 == 0 ? this::allocate : i % 3 == 1 ? new Thrower() : this::spin;
      sink += step.getAsLong() + VERSION.length();
      done++;
    }
    return done;
  }

  private long allocate() {
    List<Object> objects = new ArrayList<>();
    for (int i = 0; i < 2000; i++) {
      objects.add(new Item(i * 31 % 1009));
    }
    Collections.sort(objects, (a, b) -> Integer.compare(((Item) a).key, ((Item) b).key));
    synchronized (LOCK) {
      return objects.size() + new byte[200_000].length;
    }
  }

  private long spin() {
    long x = System.nanoTime();
    for (int i = 0; i < 200_000; i++) {
      x = x * 31 + (x >>> 7);
    }
    return x;
  }

  private static final class Item {
    final int key;

    Item(int key) {
      this.key = key;
    }
  }

  private static final class Failure extends RuntimeException {
    private static final long serialVersionUID = 1L;

    Failure(String message) {
      super(message);
    }
  }

  private static final class Thrower implements LongSupplier {
    @Override
    public long getAsLong() {
      try {
        throw new Failure("of " + VERSION);
      } catch (Failure e) {
        return e.getStackTrace().length;
      }
    }
  }
}
