package misstep.recording;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * Reads the primitive values of a chunk: integers are LEB128 with at most nine bytes, of which the
 * ninth has eight bits (HotSpot's {@code jfrEncoders.hpp}).
 */
final class Cursor {
  private final byte[] data;
  private final int end;
  private int at;

  Cursor(byte[] data, int at, int end) {
    this.data = data;
    this.at = at;
    this.end = end;
  }

  int position() {
    return at;
  }

  byte octet() {
    if (at >= end || at < 0) {
      throw new BrokenChunkException("a value goes beyond its end", at);
    }
    return data[at++];
  }

  long integer() {
    long value = 0;
    for (int shift = 0; shift < 56; shift += 7) {
      byte b = octet();
      value |= (b & 0x7fL) << shift;
      if (b >= 0) {
        return value;
      }
    }
    return value | (octet() & 0xffL) << 56;
  }

  /** Reads a length or count that cannot be larger than the bytes that are left. */
  int count() {
    long value = integer();
    if (value < 0 || value > end - at) {
      throw new BrokenChunkException("a length of " + value + " goes beyond its end", at);
    }
    return (int) value;
  }

  void skip(int bytes) {
    if (bytes < 0 || bytes > end - at) {
      throw new BrokenChunkException("a value of " + bytes + " bytes goes beyond its end", at);
    }
    at += bytes;
  }

  String text(int bytes, boolean utf8) {
    int from = at;
    skip(bytes);
    return new String(
        data, from, bytes, utf8 ? StandardCharsets.UTF_8 : StandardCharsets.ISO_8859_1);
  }

  /** Reports whether the bytes from a position to this one are those of another cursor's. */
  boolean sameSince(int position, Cursor other, int otherPosition) {
    return Arrays.equals(data, position, at, other.data, otherPosition, other.at);
  }
}
