/** Stays for a while in a static initializer that compiled code triggers (JDK-8303444): time enough for signals. */
public final class SlowClinit {
  private static final class Lazy {
    static final long VALUE;

    static {
      long sum = 0;
      for (long end = System.nanoTime() + 500_000_000L; System.nanoTime() < end; ) {
        sum += step(sum);
      }
      VALUE = sum;
    }

    static long step(long x) {
      return x * 31 + 7;
    }
  }

  static long trigger() {
    return Lazy.VALUE;
  }

  public static void main(String[] args) {
    System.out.println("sum " + trigger());
  }
}
