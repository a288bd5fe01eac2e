package misstep.workloads.epochs;

import java.util.concurrent.atomic.AtomicLong;
import misstep.workloads.FreshLoader;

/** Runs the fresh task in a loader of its own; the thread gets another name half way. */
final class Runner implements Runnable {
  private final int steps;
  private final boolean redefine;
  private final AtomicLong sum;

  Runner(int steps, boolean redefine, AtomicLong sum) {
    this.steps = steps;
    this.redefine = redefine;
    this.sum = sum;
  }

  @Override
  public void run() {
    Thread thread = Thread.currentThread();
    try {
      FreshLoader loader = new FreshLoader(Runner.class, "fresh");
      Steps task = loader.make("Task", Steps.class);
      sum.addAndGet(task.run(steps / 2, () -> {}));
      thread.setName(thread.getName() + "-renamed");
      Runnable half = redefine ? () -> Redefiner.redefine(task.getClass()) : () -> {};
      sum.addAndGet(task.run(steps - steps / 2, half));
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException(e);
    }
  }
}
