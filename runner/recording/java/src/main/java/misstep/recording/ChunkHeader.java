package misstep.recording;

import java.nio.ByteBuffer;

/**
 * The header of a chunk, as HotSpot's {@code jfrChunkWriter.cpp} writes it: 68 bytes, big-endian.
 *
 * @param size of the chunk in bytes with its header; of what was flushed while the chunk is open
 * @param constants offset of the last checkpoint in the chunk
 * @param metadata offset of the metadata event in the chunk
 * @param startNanos since the epoch
 * @param startTicks the clock of the events at {@code startNanos}
 * @param state 0 when the chunk is finished, else a generation that each flush increments, or 255
 *     while the header is being written
 * @param flags 1: integers are compressed, 2: last chunk of the recording
 */
record ChunkHeader(
    short major,
    short minor,
    long size,
    long constants,
    long metadata,
    long startNanos,
    long durationNanos,
    long startTicks,
    long ticksPerSecond,
    int state,
    int flags) {

  static final int BYTES = 68;
  private static final int MAGIC = 0x464c5200; // FLR and 0

  /** Reports whether a chunk begins at the buffer's position. */
  static boolean startsAt(ByteBuffer data) {
    return data.remaining() >= Integer.BYTES && data.getInt(data.position()) == MAGIC;
  }

  /** Reads a header from the buffer's position, which stays; there are at least BYTES bytes. */
  static ChunkHeader read(ByteBuffer data) {
    int at = data.position();
    return new ChunkHeader(
        data.getShort(at + 4),
        data.getShort(at + 6),
        data.getLong(at + 8),
        data.getLong(at + 16),
        data.getLong(at + 24),
        data.getLong(at + 32),
        data.getLong(at + 40),
        data.getLong(at + 48),
        data.getLong(at + 56),
        data.get(at + 64) & 0xff,
        data.get(at + 67) & 0xff);
  }

  boolean compressed() {
    return (flags & 1) != 0;
  }

  /** Writes the three fields that tell a parser what belongs to the chunk. */
  static void patch(byte[] chunk, long size, long constants, long metadata) {
    ByteBuffer.wrap(chunk).putLong(8, size).putLong(16, constants).putLong(24, metadata);
  }
}
