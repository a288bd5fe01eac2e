package misstep.workloads.upcalls;

import java.lang.ref.Cleaner;
import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Finalizers, cleaners and reference queues, with occasional collections. Counts only what is
 * independent of the collector.
 */
final class References implements Part {
  private static final int OBJECTS = 20;
  static final long COUNT = 2 * OBJECTS;

  private static final Cleaner CLEANER = Cleaner.create();

  @Override
  public long run(long seed) throws InterruptedException {
    AtomicInteger cleaned = new AtomicInteger();
    ReferenceQueue<Object> queue = new ReferenceQueue<>();
    WeakReference<?>[] references = new WeakReference<?>[OBJECTS];
    int enqueued = 0;
    for (int i = 0; i < OBJECTS; i++) {
      Object object = new Finalized();
      CLEANER.register(object, () -> {});
      Cleaner.Cleanable own = CLEANER.register(object, cleaned::incrementAndGet);
      references[i] = new WeakReference<>(object, queue);
      own.clean();
      own.clean();
      enqueued += references[i].enqueue() ? 1 : 0;
      Reference.reachabilityFence(object); // or it might be collected first
    }
    if (new Random(seed).nextInt(10) == 0) {
      System.gc();
    }
    while (queue.remove(1) != null) {
      enqueued--;
    }
    if (enqueued != 0) {
      throw new IllegalStateException("the queue and its references differ by " + enqueued);
    }
    return cleaned.get() + references.length;
  }

  private static final class Finalized {
    private long[] room = new long[4];

    @Override
    @SuppressWarnings("deprecation")
    protected void finalize() {
      room = null;
      if (room == null) {
        throw new IllegalStateException("ignored by the finalizer thread");
      }
    }
  }
}
