package misstep.recording;

import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.List;
import org.openjdk.jmc.flightrecorder.CouldNotLoadRecordingException;
import org.openjdk.jmc.flightrecorder.internal.FlightRecordingLoader;

/**
 * Reads a recording one chunk at a time: JMC is given each chunk by itself, so that it holds no
 * more than one, and a broken one does not take the others with it.
 */
final class RecordingReader {
  /** A message is one line of a report; exceptions may quote what the recording says. */
  private static final int MAX_MESSAGE = 300;

  private final Path file;
  private final Limits limits;
  private final StreamWriter out;
  private final Summary summary = new Summary();
  private Tables tables;
  private int index;

  RecordingReader(Path file, Limits limits, OutputStream stream) throws IOException {
    this.file = file;
    this.limits = limits;
    this.out = new StreamWriter(stream, limits.outputBytes());
  }

  void run() throws IOException {
    boolean complete = true;
    try (FileChannel channel = FileChannel.open(file)) {
      long offset = 0;
      while (offset < channel.size()) {
        long size = chunk(channel, offset);
        if (size == 0) {
          break;
        }
        offset += size;
        index++;
      }
      if (channel.size() == 0) {
        problem(ProblemKind.CUT, 0, "the file is empty");
      }
    } catch (StreamWriter.FullException e) {
      complete = false;
    } catch (UncheckedIOException e) {
      throw e.getCause();
    }
    summary.write(out, complete);
    out.flush();
  }

  /** Reads the chunk at an offset; returns its size in the file, 0 when no other can follow. */
  private long chunk(FileChannel channel, long offset) throws IOException {
    long left = channel.size() - offset;
    ByteBuffer head = read(channel, offset, (int) Math.min(left, ChunkHeader.BYTES));
    if (!ChunkHeader.startsAt(head)) {
      problem(
          ProblemKind.LAYOUT, offset, "no chunk begins here: the file has " + left + " more bytes");
      return 0;
    }
    if (left < ChunkHeader.BYTES) {
      problem(ProblemKind.CUT, offset, "the file ends in the header of the chunk");
      return 0;
    }
    ChunkHeader header = ChunkHeader.read(head);
    if (header.major() != 1 && header.major() != 2) {
      problem(
          ProblemKind.LAYOUT,
          offset,
          "the format of the chunk has version "
              + header.major()
              + "; known are 1 and 2"
              + (header.major() == 0 ? ", JDK 7 and 8 before 8u262 write 0" : ""));
      return 0;
    }
    long declared = header.size();
    boolean cut = header.size() > left || header.size() < ChunkHeader.BYTES;
    long size = cut ? left : header.size();
    if (size > limits.chunkBytes()) {
      problem(
          ProblemKind.LIMIT,
          offset,
          "the chunk has " + size + " bytes; the limit is " + limits.chunkBytes());
      return cut ? 0 : size;
    }
    byte[] data = read(channel, offset, (int) size).array();
    if (cut) {
      int usable = EventWalk.salvage(data, data.length);
      if (usable > 0) {
        header = ChunkHeader.read(ByteBuffer.wrap(data));
        begin(header, usable, offset);
      }
      problem(
          ProblemKind.CUT,
          offset,
          "the header says " + declared + " bytes; the file ends after " + left);
      if (usable > 0) {
        parse(header, data, usable, offset);
      }
      return 0;
    }
    begin(header, size, offset);
    if (header.state() != 0) {
      problem(
          ProblemKind.UNFINISHED,
          offset,
          "the chunk was not finished: its header says " + size + " bytes, of the file's " + left);
    }
    parse(header, data, data.length, offset);
    return header.state() != 0 ? 0 : size;
  }

  private void begin(ChunkHeader header, long size, long offset) {
    tables = new Tables(out, limits.frames());
    out.unsigned(index)
        .unsigned(offset)
        .unsigned(size)
        .unsigned(header.startNanos())
        .unsigned(header.durationNanos())
        .unsigned(header.startTicks())
        .unsigned(header.ticksPerSecond())
        .unsigned(header.state())
        .unsigned(header.flags())
        .end('C');
    summary.chunk();
  }

  private void parse(ChunkHeader header, byte[] data, int size, long offset) throws IOException {
    constants(header, data, size, offset);
    EventSinks sinks = new EventSinks(header, out, tables, summary);
    try (InputStream in = new DataInputStream(new ByteArrayInputStream(data, 0, size))) {
      FlightRecordingLoader.loadStream(in, List.of(sinks), false, false);
    } catch (StreamWriter.FullException | UncheckedIOException e) {
      throw e;
    } catch (CouldNotLoadRecordingException
        | IOException
        | RuntimeException
        | OutOfMemoryError
        | StackOverflowError e) {
      out.discard();
      int at = EventWalk.positionOf(data, size, sinks.read());
      problem(
          e instanceof OutOfMemoryError ? ProblemKind.LIMIT : ProblemKind.PARSER,
          offset + Math.max(at, 0),
          "after " + sinks.read() + " events of the chunk: " + String.valueOf(e));
    }
  }

  private void constants(ChunkHeader header, byte[] data, int size, long offset) {
    if (!header.compressed()) {
      problem(
          ProblemKind.LIMIT,
          offset,
          "the integers of the chunk are not compressed: its constants are not checked");
      return;
    }
    try {
      Constants constants = new Constants(header, data, size, out, tables);
      tables.setVirtual(constants.virtual());
      constants.check();
    } catch (BrokenChunkException e) {
      out.discard();
      problem(ProblemKind.LAYOUT, offset + e.position(), "constants: " + e.getMessage());
    } catch (StreamWriter.FullException | UncheckedIOException e) {
      throw e;
    } catch (RuntimeException e) { // such as a type without a name
      out.discard();
      problem(ProblemKind.LAYOUT, offset, "constants: " + e);
    } catch (OutOfMemoryError e) {
      out.discard();
      problem(ProblemKind.LIMIT, offset, "constants: " + e);
    }
  }

  private void problem(ProblemKind kind, long offset, String message) {
    summary.error();
    out.unsigned(index)
        .unsigned(offset)
        .string(message.substring(0, Math.min(message.length(), MAX_MESSAGE)))
        .unsigned(kind.ordinal() + 1)
        .endWithinReserve('X');
  }

  private static ByteBuffer read(FileChannel channel, long offset, int bytes) throws IOException {
    ByteBuffer buffer = ByteBuffer.allocate(bytes);
    while (buffer.hasRemaining()) {
      if (channel.read(buffer, offset + buffer.position()) < 0) {
        throw new IOException("the file became shorter while it was read");
      }
    }
    return buffer.flip();
  }
}
