/**
 * Implements the part of Renaissance's command line that the adapter uses, for its tests only. It
 * is not Renaissance and runs no benchmark.
 */
public final class Launcher {
  private Launcher() {}

  public static void main(String[] args) {
    int repetitions = 1;
    String benchmark = null;
    for (int i = 0; i < args.length; i++) {
      switch (args[i]) {
        case "--raw-list":
          System.out.println("fake-good\nfake-invalid\nfake-throwing\nfake-empty");
          return;
        case "-r":
          repetitions = Integer.parseInt(args[++i]);
          break;
        case "--scratch-base":
          if (!new java.io.File(args[++i]).isDirectory()) {
            System.err.println("no scratch base");
            System.exit(1);
          }
          break;
        default:
          benchmark = args[i];
      }
    }
    System.exit(run(benchmark, repetitions) ? 0 : 1);
  }

  private static boolean run(String benchmark, int repetitions) {
    String line = "====== " + benchmark + " (fake) [default], iteration %d ";
    for (int i = 0; i < repetitions; i++) {
      if (benchmark.equals("fake-empty")) {
        return true;
      }
      System.out.printf(line + "started ======%n", i);
      if (benchmark.equals("fake-invalid")) {
        System.out.printf(line + "failed (ValidationException) ======%n", i);
        System.err.println(
            "Benchmark 'fake-invalid' failed result validation:\nexpected 1 but got 2");
      } else if (benchmark.equals("fake-throwing")) {
        System.out.printf(line + "failed (IllegalStateException) ======%n", i);
        System.err.println("Benchmark 'fake-throwing' failed with exception:");
        new IllegalStateException("thrown on purpose").printStackTrace();
      } else if (benchmark.equals("fake-good")) {
        System.out.printf(line + "completed (1.000 ms) ======%n", i);
        continue;
      } else {
        System.err.println("Benchmark (or group) '" + benchmark + "' does not exist.");
        return false;
      }
      System.err.println("The following benchmarks failed: " + benchmark);
      return false;
    }
    return true;
  }
}
