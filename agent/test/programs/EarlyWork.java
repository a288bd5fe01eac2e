/** The work of {@link Early}, instrumented. */
final class EarlyWork {
  /** Calls of each work, in turn {@link #call} and its {@link #leaf}s. */
  static final int CALLS = 100;

  private static volatile int result;

  private EarlyWork() {}

  static void work() {
    int x = 1;
    for (int i = 0; i < CALLS; i++) {
      x = call(x, i % 10);
    }
    result = x;
  }

  static int call(int x, int deeper) {
    return deeper == 0 ? leaf(x) : call(x, deeper - 1) + 1;
  }

  static int leaf(int x) {
    for (int i = 0; i < 1_000_000; i++) {
      x = x * 31 + (x >>> 3);
    }
    return x;
  }
}
