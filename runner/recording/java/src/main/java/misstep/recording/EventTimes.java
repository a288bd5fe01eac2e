package misstep.recording;

import java.util.IdentityHashMap;
import java.util.Map;

/**
 * When the events of a chunk ended, by their type: an event belongs to the chunk that was open when
 * it ended, whenever it began.
 */
final class EventTimes {
  private static final class Window {
    long events;
    long earliest = Long.MAX_VALUE;
    long latest = Long.MIN_VALUE;
  }

  private final ChunkHeader header;
  private final Map<Metadata.Type, Window> windows = new IdentityHashMap<>();
  private boolean timed;
  private long start;
  private long duration;

  EventTimes(ChunkHeader header) {
    this.header = header;
  }

  void begin() {
    timed = false;
    duration = 0;
  }

  void value(Metadata.Field field, long value) {
    switch (field.role()) {
      case START -> {
        timed = true;
        start = value;
      }
      case DURATION -> duration = value;
      default -> {}
    }
  }

  void end(Metadata.Type type) {
    if (!timed) {
      return;
    }
    Window window = windows.computeIfAbsent(type, t -> new Window());
    long ended = nanos(start - header.startTicks() + duration);
    window.events++;
    window.earliest = Math.min(window.earliest, ended);
    window.latest = Math.max(window.latest, ended);
  }

  void write(StreamWriter out, Tables tables) {
    windows.forEach(
        (type, window) -> {
          int name = tables.string(type.name());
          out.unsigned(name)
              .unsigned(window.events)
              .signed(window.earliest)
              .signed(window.latest)
              .end('V');
        });
  }

  private long nanos(long ticks) {
    return header.ticksPerSecond() == 1_000_000_000
        ? ticks
        : (long) (ticks * (1e9 / header.ticksPerSecond()));
  }
}
