package misstep.recording;

import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Path;
import java.util.logging.Level;
import java.util.logging.LogManager;
import java.util.logging.Logger;

/**
 * Reads a recording and writes the stream to standard output. The exit code is 0 when the stream
 * has its end, whatever is wrong with the recording; 2 for wrong arguments; 1 when the recording
 * cannot be read or the stream not be written.
 *
 * <p>Usage: {@code Main FILE MAX_CHUNK_BYTES MAX_FRAMES MAX_OUTPUT_BYTES}
 */
final class Main {
  private Main() {}

  public static void main(String[] args) {
    System.exit(run(args));
  }

  private static int run(String[] args) {
    if (args.length != 4) {
      System.err.println("usage: FILE MAX_CHUNK_BYTES MAX_FRAMES MAX_OUTPUT_BYTES");
      return 2;
    }
    // JMC warns of each field that it does not know, such as a thread's "virtual".
    LogManager.getLogManager().reset();
    Logger.getLogger("org.openjdk.jmc").setLevel(Level.OFF);
    try (OutputStream stdout = new FileOutputStream(FileDescriptor.out)) {
      Limits limits =
          new Limits(Integer.parseInt(args[1]), Integer.parseInt(args[2]), Long.parseLong(args[3]));
      new RecordingReader(Path.of(args[0]), limits, stdout).run();
      return 0;
    } catch (NumberFormatException e) {
      System.err.println("a limit is not a number: " + e.getMessage());
      return 2;
    } catch (IOException e) {
      System.err.println(e);
      return 1;
    }
  }
}
