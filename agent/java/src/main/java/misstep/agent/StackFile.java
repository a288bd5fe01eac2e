package misstep.agent;

import java.io.ByteArrayOutputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;

/** Writes the file of {@link StackSampler}: records of numbers and texts, up to a limit. */
final class StackFile {
  /** The most bytes that a file has. */
  static final int MOST = 256 << 20;

  private static final String MAGIC = "MISSSTK2";

  private final FileOutputStream file;
  private final ByteArrayOutputStream pending = new ByteArrayOutputStream(1 << 16);
  private final ByteArrayOutputStream payload = new ByteArrayOutputStream(1 << 12);
  private final long epoch;
  private long written;
  private boolean full;

  StackFile(String path) throws IOException {
    file = new FileOutputStream(path);
    epoch = epoch();
    byte[] magic = MAGIC.getBytes(StandardCharsets.US_ASCII);
    pending.write(magic, 0, magic.length);
    flush();
  }

  /** Nanoseconds since the epoch. */
  long now() {
    return epoch + System.nanoTime();
  }

  /**
   * The epoch's time at nanoTime 0, by a change of the clock that all JDKs have, in milliseconds,
   * that was seen within 50 microseconds; on a machine that is too busy for that by the best of 99.
   */
  private static long epoch() {
    long best = Long.MAX_VALUE;
    long epoch = 0;
    long before = System.nanoTime(); // the change comes after this
    long millis = System.currentTimeMillis();
    for (int changes = 0; changes < 99 && best > 50_000; ) {
      long now = System.nanoTime();
      long next = System.currentTimeMillis();
      if (next != millis) {
        long after = System.nanoTime();
        if (after - before < best) {
          best = after - before;
          epoch = next * 1_000_000 - after;
        }
        millis = next;
        changes++;
      }
      before = now;
    }
    return epoch;
  }

  /** Adds a number, at least 0, to the next record. */
  StackFile number(long value) {
    write(payload, value);
    return this;
  }

  /** Adds a text to the next record. */
  StackFile text(String value) {
    byte[] bytes = value.getBytes(StandardCharsets.UTF_8);
    write(payload, bytes.length);
    payload.write(bytes, 0, bytes.length);
    return this;
  }

  /** Ends a record; false from the first one on that would exceed the limit. */
  boolean record(char tag) {
    full = full || written + pending.size() + payload.size() >= MOST;
    if (!full) {
      pending.write(tag);
      write(pending, payload.size());
      byte[] bytes = payload.toByteArray();
      pending.write(bytes, 0, bytes.length);
    }
    payload.reset();
    return !full;
  }

  /** Writes the records since the last call. */
  void flush() throws IOException {
    written += pending.size();
    pending.writeTo(file);
    pending.reset();
  }

  /** Writes the last record, which says that the file is full. */
  void end() throws IOException {
    pending.write('Z');
    pending.write(0);
    flush();
  }

  private static void write(ByteArrayOutputStream out, long value) {
    long rest = value;
    for (; (rest & ~0x7FL) != 0; rest >>>= 7) {
      out.write((int) (rest & 0x7F | 0x80));
    }
    out.write((int) rest);
  }
}
