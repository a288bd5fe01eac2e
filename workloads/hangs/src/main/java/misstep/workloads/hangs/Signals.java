package misstep.workloads.hangs;

import java.nio.file.Path;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import misstep.workloads.ValidationException;
import sun.misc.Signal;

/** Raises signals that Java handles while the collector works. */
final class Signals implements Part {
  private static final Signal SIGNAL = new Signal("WINCH");
  private static final int TIMES = 20;
  private static final int BLOCKS = 200;

  @Override
  public void round(Random random, Path scratch) throws Exception {
    CountDownLatch handled = new CountDownLatch(TIMES);
    Signal.handle(SIGNAL, got -> handled.countDown());
    int[] lengths = new int[1];
    Threads threads = new Threads();
    threads.start("collects", () -> lengths[0] = collect());
    for (int i = 0; i < TIMES; i++) {
      Signal.raise(SIGNAL);
    }
    handled.await();
    threads.join();
    ValidationException.equal("kilobytes", BLOCKS, lengths[0]);
  }

  private static int collect() {
    byte[][] blocks = new byte[BLOCKS][];
    for (int i = 0; i < BLOCKS; i++) {
      blocks[i] = new byte[1 << 10];
      if (i == BLOCKS / 2) {
        System.gc();
      }
    }
    int sum = 0;
    for (byte[] block : blocks) {
      sum += block.length >> 10;
    }
    return sum;
  }
}
