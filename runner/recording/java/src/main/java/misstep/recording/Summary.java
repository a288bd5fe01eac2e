package misstep.recording;

import java.util.Map;
import java.util.TreeMap;

/** What is counted over all chunks. */
final class Summary {
  /** One event of these types is a loss of others. */
  static final String DATA_LOSS = "jdk.DataLoss";

  static final String SAMPLES_LOST = "jdk.CPUTimeSamplesLost";

  private final Map<String, Long> counts = new TreeMap<>();
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

  void type(String name) {
    counts.putIfAbsent(name, 0L);
  }

  void event(String type) {
    counts.merge(type, 1L, Long::sum);
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
          if (count > 0) {
            out.string(type).unsigned(count).endWithinReserve('N');
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
