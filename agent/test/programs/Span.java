import java.io.File;

/** How long a program works: for as many seconds as it is told at most, and no longer once a test has seen enough. */
final class Span {
  private static final long LOOK_NANOS = 20_000_000;
  private static final File ENOUGH = new File("enough");

  private final long end;
  private long look = System.nanoTime();
  private boolean over;

  /** As many seconds as an argument says, or those given where there is no such argument. */
  Span(String[] args, int at, double otherwise) {
    double seconds = args.length > at ? Double.parseDouble(args[at]) : otherwise;
    end = look + (long) (seconds * 1e9);
  }

  /** Whether there is a file {@code enough} in the program's folder, which the test makes. */
  static boolean enough() {
    return ENOUGH.exists();
  }

  /** To be called by one thread only. Costs a look at the clock, and at the folder every 20 ms. */
  boolean over() {
    long now = System.nanoTime();
    if (now - look >= 0) {
      look = now + LOOK_NANOS;
      over = now - end >= 0 || enough();
    }
    return over;
  }
}
