package misstep.workloads.hangs;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicReference;

/** Threads that are started together, and waited for without a limit. */
final class Threads {
  private final List<Thread> all = new ArrayList<>();
  private final AtomicReference<Throwable> failed = new AtomicReference<>();

  /** Starts a thread. */
  Thread start(String name, Callable<?> work) {
    Thread thread =
        new Thread(
            () -> {
              try {
                work.call();
              } catch (Throwable e) {
                failed.compareAndSet(null, e);
              }
            },
            name);
    all.add(thread);
    thread.start();
    return thread;
  }

  /** Waits until all have ended, and throws what one of them has thrown. */
  void join() throws Exception {
    for (Thread thread : all) {
      thread.join();
    }
    Throwable thrown = failed.get();
    if (thrown instanceof Exception) {
      throw (Exception) thrown;
    }
    if (thrown != null) {
      throw (Error) thrown;
    }
  }
}
