/*
 * @test
 * @summary A JVM ends although a daemon thread is taking all threads' stack traces
 * @run main/othervm/timeout=300 DumpAtExit
 * @run main/othervm/timeout=300 DumpAtExit jmx
 * @run main/othervm/timeout=300 DumpAtExit control
 */

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * Starts JVMs in which daemon threads take stack traces until main returns, and fails if one of
 * them does not end. Argument: how the traces are taken, "threads" ({@link
 * Thread#getAllStackTraces}, the default), "jmx" ({@link ThreadMXBean#dumpAllThreads}), or
 * "control" (none are taken: the same threads allocate as much).
 */
public final class DumpAtExit {
  private static final int TRIES = 8;
  private static final int SECONDS = 30;
  private static volatile Object garbage;

  public static void main(String[] args) throws Exception {
    if (args.length == 2) {
      run(args[0]);
      return;
    }
    String how = args.length == 0 ? "threads" : args[0];
    for (int i = 1; i <= TRIES; i++) {
      if (!ends(how)) {
        throw new AssertionError(
            how
                + ": JVM "
                + i
                + " of "
                + TRIES
                + " had not ended "
                + SECONDS
                + " s after its start");
      }
    }
    System.out.println(how + ": " + TRIES + " of " + TRIES + " JVMs ended");
  }

  /** Whether a JVM with a young generation smaller than what a dump of its threads allocates ends. */
  private static boolean ends(String how) throws Exception {
    String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
    String classes = System.getProperty("test.classes", System.getProperty("java.class.path"));
    List<String> command =
        List.of(java, "-Xmx64m", "-Xmn2m", "-cp", classes, "DumpAtExit", how, "child");
    Process jvm = new ProcessBuilder(command).inheritIO().start();
    if (jvm.waitFor(SECONDS, TimeUnit.SECONDS)) {
      return true;
    }
    jvm.destroyForcibly().waitFor();
    return false;
  }

  private static void run(String how) throws Exception {
    for (int i = 0; i < 64; i++) {
      daemon(() -> deep(500));
    }
    ThreadMXBean threads = ManagementFactory.getThreadMXBean();
    for (int i = 0; i < 4; i++) {
      daemon(
          () -> {
            while (true) {
              switch (how) {
                case "threads" -> Thread.getAllStackTraces();
                case "jmx" -> threads.dumpAllThreads(false, false);
                case "control" -> garbage = new byte[1 << 12];
                default -> throw new IllegalArgumentException(how);
              }
            }
          });
    }
    Thread.sleep(300);
  }

  private static void daemon(Runnable task) {
    Thread thread = new Thread(task);
    thread.setDaemon(true);
    thread.start();
  }

  private static int deep(int frames) {
    if (frames > 0) {
      return deep(frames - 1) + 1;
    }
    try {
      Thread.sleep(1_000_000);
    } catch (InterruptedException e) {
      return 0;
    }
    return 0;
  }
}
