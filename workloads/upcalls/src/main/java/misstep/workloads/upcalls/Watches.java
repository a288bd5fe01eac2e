package misstep.workloads.upcalls;

import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.lang.management.ThreadInfo;
import java.lang.management.ThreadMXBean;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import javax.management.ListenerNotFoundException;
import javax.management.NotificationEmitter;
import javax.management.NotificationListener;

/** Stack walks by the JDK itself, while the other threads work. */
final class Watches implements Part {
  private static final int DEPTH = 40;
  static final long COUNT = 2 * (DEPTH + 1) + 3;

  @Override
  public long run(long seed) {
    long count = below(DEPTH, 0) + below(DEPTH, 1);
    ThreadMXBean threads = ManagementFactory.getThreadMXBean();
    ThreadInfo[] all = threads.dumpAllThreads(true, new Random(seed).nextBoolean());
    count += all.length > 0 ? 1 : 0;
    Map<Thread, StackTraceElement[]> traces = Thread.getAllStackTraces();
    count += traces.containsKey(Thread.currentThread()) ? 1 : 0;
    for (Thread thread : traces.keySet()) {
      thread.getStackTrace();
    }
    threads.findDeadlockedThreads();
    return count + (threads.getThreadInfo(Thread.currentThread().getId(), 5) != null ? 1 : 0);
  }

  private static long below(int depth, int kind) {
    if (depth > 0) {
      return below(depth - 1, kind);
    }
    if (kind == 0) {
      return StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE)
          .walk(
              frames ->
                  frames
                      .filter(f -> f.getDeclaringClass() == Watches.class)
                      .filter(f -> f.getMethodName().equals("below"))
                      .count());
    }
    long count = 0;
    for (StackTraceElement element : Thread.currentThread().getStackTrace()) {
      count += element.getMethodName().equals("below") ? 1 : 0;
    }
    return count;
  }

  /**
   * Makes the service thread call a listener for the memory pools' usage, which few VMs' collectors
   * do.
   */
  static void global() throws InterruptedException, ListenerNotFoundException {
    CountDownLatch called = new CountDownLatch(1);
    NotificationEmitter memory = (NotificationEmitter) ManagementFactory.getMemoryMXBean();
    NotificationListener listener = (notification, handback) -> called.countDown();
    memory.addNotificationListener(listener, null, null);
    try {
      thresholds(1);
      System.gc();
      called.await(200, TimeUnit.MILLISECONDS);
    } finally {
      thresholds(0);
      memory.removeNotificationListener(listener);
    }
  }

  private static void thresholds(long bytes) {
    for (MemoryPoolMXBean pool : ManagementFactory.getMemoryPoolMXBeans()) {
      if (pool.isUsageThresholdSupported()) {
        pool.setUsageThreshold(bytes);
      }
    }
  }
}
