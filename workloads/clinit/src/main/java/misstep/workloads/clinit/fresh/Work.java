package misstep.workloads.clinit.fresh;

/** Called by the initialisers. It has no initialiser of its own. */
final class Work {
  private Work() {}

  /** The value of a class: its number and the 12th Fibonacci number, 144. */
  static long value(int number) {
    return fibonacci(12) + number;
  }

  private static long fibonacci(int n) {
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
  }
}
