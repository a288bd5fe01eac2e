package misstep.recording;

import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * Writes records: a tag, the length of what follows, and values, each an unsigned LEB128 integer, a
 * zigzag-encoded one, or a string as its length and UTF-8. {@code runner/recording/format.go}
 * defines the records.
 */
final class StreamWriter {
  /** The class file format bounds names by 64 KiB; what is longer is no name, and is cut. */
  private static final int MAX_STRING = 1 << 16;

  private static final byte[] MAGIC = "MISSREC2".getBytes(StandardCharsets.US_ASCII);

  private final OutputStream out;
  private final long limit;
  private long written;
  private byte[] record = new byte[1 << 12];
  private int length;

  /** Signals that the output has reached its limit. */
  static final class FullException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    FullException(long limit) {
      super("the output has reached its limit of " + limit + " bytes");
    }
  }

  /** Writes to a stream; no record begins beyond the limit, in bytes. */
  StreamWriter(OutputStream out, long limit) throws IOException {
    this.out = new BufferedOutputStream(out, 1 << 16);
    this.limit = limit;
    this.out.write(MAGIC);
    written = MAGIC.length;
  }

  StreamWriter unsigned(long value) {
    room(10);
    while ((value & ~0x7fL) != 0) {
      record[length++] = (byte) (value | 0x80);
      value >>>= 7;
    }
    record[length++] = (byte) value;
    return this;
  }

  StreamWriter signed(long value) {
    return unsigned(value << 1 ^ value >> 63);
  }

  StreamWriter string(String value) {
    String cut = value.substring(0, Math.min(value.length(), MAX_STRING));
    byte[] bytes = cut.getBytes(StandardCharsets.UTF_8);
    unsigned(bytes.length);
    room(bytes.length);
    System.arraycopy(bytes, 0, record, length, bytes.length);
    length += bytes.length;
    return this;
  }

  /** Ends a record of values written since the last one. */
  void end(char tag) {
    if (written > limit) {
      length = 0;
      throw new FullException(limit);
    }
    endWithinReserve(tag);
  }

  /** Ends one of the few records that are written even when the output is full. */
  void endWithinReserve(char tag) {
    try {
      out.write(tag);
      int size = length;
      written += size + 2;
      while ((size & ~0x7f) != 0) {
        out.write(size | 0x80);
        size >>>= 7;
      }
      out.write(size);
      out.write(record, 0, length);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    length = 0;
  }

  /** Forgets the values written since the last record. */
  void discard() {
    length = 0;
  }

  void flush() throws IOException {
    out.flush();
  }

  private void room(int bytes) {
    if (record.length - length < bytes) {
      record = Arrays.copyOf(record, Math.max(record.length * 2, length + bytes));
    }
  }
}
