/** A busy class initialiser that interpreted code triggers: each of its samples should have caller and main below it. */
public class Upcall {
  static class Busy {
    static long sum;

    static {
      for (long end = System.nanoTime() + 500_000_000L; System.nanoTime() < end; ) {
        sum++;
      }
    }
  }

  static void caller() {
    Busy.sum++;
  }

  public static void main(String[] args) {
    caller();
  }
}
