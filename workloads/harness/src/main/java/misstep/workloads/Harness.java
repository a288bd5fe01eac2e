package misstep.workloads;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Runs a workload's repetitions and ends the JVM by the plain protocol: exit code 0 and the line
 * {@code misstep: NAME verified N repetitions} on stdout, or 3 and {@code misstep: NAME validation
 * failed: WHY} on stderr, or 1 and a stack trace.
 *
 * <p>It reads the system properties {@code misstep.name}, {@code misstep.repetitions} (1 when
 * absent) and {@code misstep.scratch} (a temporary folder when absent).
 */
public final class Harness {
  private static final int THROWN = 1;
  private static final int INVALID = 3;

  private Harness() {}

  /**
   * Runs the workload and ends the JVM.
   *
   * @param workload to run
   */
  public static void run(Workload workload) {
    String name = System.getProperty("misstep.name", "workload");
    int status;
    try {
      int repetitions = repeat(workload);
      System.out.println("misstep: " + name + " verified " + repetitions + " repetitions");
      System.out.flush();
      status = 0;
    } catch (ValidationException e) {
      System.err.println("misstep: " + name + " validation failed: " + e.getMessage());
      status = INVALID;
    } catch (Throwable e) {
      e.printStackTrace();
      status = THROWN;
    }
    // Threads left running by the workload's libraries must not keep the JVM alive.
    System.exit(status);
  }

  // Simple code only from here on: with -Xcomp everything used is compiled first, and java.nio's
  // file tree walker, SecureRandom's temporary names and printf take seconds.
  private static int repeat(Workload workload) throws Exception {
    int repetitions = Integer.getInteger("misstep.repetitions", 1);
    if (repetitions < 1) {
      throw new IllegalArgumentException(
          "misstep.repetitions: want at least 1, got " + repetitions);
    }
    String given = System.getProperty("misstep.scratch");
    File root = given == null ? Files.createTempDirectory("misstep").toFile() : new File(given);
    try {
      for (int i = 0; i < repetitions; i++) {
        File scratch = new File(root, "repetition-" + i);
        if (!scratch.mkdirs()) {
          throw new IOException("cannot make the folder " + scratch + ", or it is there already");
        }
        long begin = System.nanoTime();
        try {
          workload.repetition(i, scratch.toPath());
        } finally {
          delete(scratch);
        }
        System.out.println(
            "repetition " + i + " took " + (System.nanoTime() - begin) / 1_000_000 + " ms");
      }
    } finally {
      if (given == null) {
        delete(root);
      }
    }
    return repetitions;
  }

  /**
   * Returns an integer argument of the command line.
   *
   * @param args of main
   * @param index of the argument
   * @param otherwise the default if there are fewer arguments
   * @return the number, at least 1
   */
  public static int argument(String[] args, int index, int otherwise) {
    if (index >= args.length) {
      return otherwise;
    }
    int value = Integer.parseInt(args[index]);
    if (value < 1) {
      throw new IllegalArgumentException("argument " + index + ": want at least 1, got " + value);
    }
    return value;
  }

  /**
   * Returns the workload's folder, which contains the folder {@code lib}.
   *
   * @param main class of the workload
   * @return the folder above the one that holds the jar of main
   */
  public static Path home(Class<?> main) {
    try {
      Path jar = Paths.get(main.getProtectionDomain().getCodeSource().getLocation().toURI());
      return jar.getParent().getParent();
    } catch (URISyntaxException e) {
      throw new IllegalStateException("the jar of " + main + " has no path", e);
    }
  }

  /**
   * Returns the only file of a folder whose name has the suffix.
   *
   * @param folder to look in
   * @param suffix of the file's name
   * @return the file
   */
  public static Path only(Path folder, String suffix) {
    try (Stream<Path> files = Files.list(folder)) {
      List<Path> found =
          files
              .filter(f -> f.getFileName().toString().endsWith(suffix))
              .collect(Collectors.toList());
      if (found.size() != 1) {
        throw new IllegalStateException(
            folder + " has " + found.size() + " files *" + suffix + ", want 1");
      }
      return found.get(0);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static void delete(File folder) throws IOException {
    File[] files = folder.listFiles();
    if (files != null) {
      for (File file : files) {
        delete(file);
      }
    }
    if (!folder.delete()) {
      throw new IOException("cannot remove " + folder);
    }
  }
}
