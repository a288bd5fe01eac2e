package misstep.recording;

import java.util.Map;
import java.util.TreeMap;

/** What is counted over all chunks. */
final class Summary {
  /** One event of these types is a loss of others. */
  static final String DATA_LOSS = "jdk.DataLoss";

  static final String SAMPLES_LOST = "jdk.CPUTimeSamplesLost";

  private final Map<String, long[]> counts = new TreeMap<>();
  private long chunks;
  private long errors;
  private long events;
  private long lostBytes;
  private long lostSamples;

  void chunk() {
    chunks++;
  }

  void error() {
    errors++;
  }

  /** Returns the count of the events of a type, which its reader increases. */
  long[] type(String name) {
    return counts.computeIfAbsent(name, n -> new long[1]);
  }

  void withTrace() {
    events++;
  }

  void lostBytes(long amount) {
    lostBytes += amount;
  }

  void lostSamples(long amount) {
    lostSamples += amount;
  }

  /** Writes the counts of the types that occurred, and the end of the stream. */
  void write(StreamWriter out, boolean complete) {
    counts.forEach(
        (type, count) -> {
          if (count[0] > 0) {
            out.string(type).unsigned(count[0]).endWithinReserve('N');
          }
        });
    out.unsigned(complete ? 1 : 0)
        .unsigned(chunks)
        .unsigned(errors)
        .unsigned(events)
        .unsigned(lostBytes)
        .unsigned(lostSamples)
        .endWithinReserve('Z');
  }
}
