package misstep.workloads.hangs;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Random;
import jdk.jfr.FlightRecorder;
import jdk.jfr.Recording;
import misstep.workloads.ValidationException;

/** Starts, dumps and stops recordings from two threads while others begin and end. */
final class Recordings implements Part {
  private static final int THREADS = 2;

  private final boolean available = FlightRecorder.isAvailable();

  @Override
  public void round(Random random, Path scratch) throws Exception {
    if (!available) {
      return;
    }
    Threads threads = new Threads();
    for (int i = 0; i < THREADS; i++) {
      Path file = scratch.resolve("dump-" + i + ".jfr");
      boolean dumps = random.nextInt(2) == 0;
      threads.start("recording-" + i, () -> record(file, dumps));
      threads.start("begins-" + i, () -> Thread.currentThread().getName());
    }
    threads.join();
  }

  private static Void record(Path file, boolean dumps) throws Exception {
    try (Recording recording = new Recording()) {
      recording.setToDisk(dumps);
      recording.enable("jdk.ExecutionSample").withPeriod(java.time.Duration.ofMillis(1));
      recording.enable("jdk.ThreadStart");
      recording.start();
      if (dumps) {
        recording.dump(file);
      }
      recording.stop();
    }
    if (dumps) {
      long bytes = Files.size(file);
      Files.delete(file);
      if (bytes == 0) {
        throw new ValidationException("a recording of 0 bytes");
      }
    }
    return null;
  }
}
