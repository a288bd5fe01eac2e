package misstep.workloads.hangs;

import java.nio.file.Path;
import java.util.Random;
import java.util.concurrent.CyclicBarrier;
import java.util.function.IntSupplier;
import misstep.workloads.FreshLoader;
import misstep.workloads.ValidationException;

/**
 * Has several threads initialise the same new classes at once, which need each other in one order
 * only.
 */
final class Initialisers implements Part {
  private static final String[] CLASSES = {"Left", "Right", "Left", "Both"};
  private static final int[] VALUES = {3, 5, 3, 8};

  @Override
  public void round(Random random, Path scratch) throws Exception {
    FreshLoader loader = new FreshLoader(Initialisers.class, "fresh");
    CyclicBarrier begin = new CyclicBarrier(CLASSES.length);
    int[] got = new int[CLASSES.length];
    Threads threads = new Threads();
    for (int i = 0; i < CLASSES.length; i++) {
      int own = i;
      threads.start(
          "initialiser-" + i,
          () -> {
            begin.await();
            return got[own] = loader.make(CLASSES[own], IntSupplier.class).getAsInt();
          });
    }
    threads.join();
    for (int i = 0; i < CLASSES.length; i++) {
      ValidationException.equal("value of " + CLASSES[i], VALUES[i], got[i]);
    }
  }
}
