package misstep.workloads.upcalls;

import java.util.Random;
import java.util.function.LongSupplier;
import jdk.jfr.FlightRecorder;
import jdk.jfr.Recording;
import misstep.workloads.FreshLoader;

/**
 * Loads JFR's event classes anew, with and without a recording: JFR adds calls to their
 * initialisers.
 */
final class Events implements Part {
  private static final int LOADS = 2;
  static final long COUNT = LOADS * 3 * 21L;

  /** Reports whether this VM can record. */
  static boolean available() {
    return FlightRecorder.isAvailable();
  }

  @Override
  public long run(long seed) throws Exception {
    // One recording per round would take most of the time.
    if (new Random(seed).nextInt(4) > 0) {
      return load();
    }
    try (Recording recording = new Recording()) {
      recording.setToDisk(false);
      recording.setMaxSize(1 << 20);
      recording.enable("misstep.Plain").withStackTrace();
      recording.start();
      return load();
    }
  }

  private static long load() throws Exception {
    long sum = 0;
    for (int i = 0; i < LOADS; i++) {
      sum +=
          new FreshLoader(Events.class, "events").make("Commits", LongSupplier.class).getAsLong();
    }
    return sum;
  }
}
