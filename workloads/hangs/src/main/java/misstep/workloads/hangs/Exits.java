package misstep.workloads.hangs;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.lang.reflect.Method;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import misstep.workloads.ValidationException;

/** Handshakes with threads that are just starting or ending, and suspends them. */
final class Exits implements Part {
  private static final int THREADS = 12;

  private final ThreadMXBean management = ManagementFactory.getThreadMXBean();
  private final Method suspend = find("suspend"); // null from JDK 23 on
  private final Method resume = find("resume");

  @Override
  public void round(Random random, Path scratch) throws Exception {
    AtomicInteger ended = new AtomicInteger();
    Threads threads = new Threads();
    List<Thread> targets = new ArrayList<>();
    for (int i = 0; i < THREADS; i++) {
      int spins = random.nextInt(2_000);
      targets.add(threads.start("short-" + i, () -> work(spins, ended)));
      touch(targets.get(random.nextInt(targets.size())), random.nextInt(5));
    }
    for (Thread target : targets) {
      touch(target, random.nextInt(5));
    }
    threads.join();
    ValidationException.equal("threads that ended", THREADS, ended.get());
  }

  private static int work(int spins, AtomicInteger ended) {
    for (int i = 0; i < spins; i++) {
      Thread.onSpinWait();
    }
    return ended.incrementAndGet();
  }

  private void touch(Thread target, int how) throws ReflectiveOperationException {
    switch (how) {
      case 0:
        target.getStackTrace();
        break;
      case 1:
        management.getThreadInfo(new long[] {target.getId()}, true, true);
        break;
      case 2:
        target.interrupt();
        target.setPriority(Thread.NORM_PRIORITY - 1);
        break;
      case 3:
        target.setName("renamed");
        break;
      default:
        if (suspend != null) {
          suspend.invoke(target); // it may hold a lock, so nothing happens before it continues
          resume.invoke(target);
        }
    }
  }

  private static Method find(String name) {
    try {
      Method method = Thread.class.getMethod(name);
      method.invoke(new Thread()); // JDK 20 to 22 have it and refuse
      return method;
    } catch (ReflectiveOperationException e) {
      return null;
    }
  }
}
