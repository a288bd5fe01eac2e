package misstep.workloads.libraries;

/**
 * LANG-481, commons-lang 2.4 to 2.6: IntRange.hashCode computes in the field in which it keeps the
 * result, so another thread may read an intermediate value. Range of commons-lang3 3.22.0 computes
 * it when it is made; that of 3.14.0 reads the field twice (by its bytecode), and may return 0.
 */
final class LangHash implements Bug {
  private static final int TIMES = 200;

  @Override
  public String round() throws Exception {
    int want = Ranges.threeToSeven().hashCode();
    Object[] ranges = new Object[TIMES];
    for (int i = 0; i < TIMES; i++) {
      ranges[i] = Ranges.threeToSeven();
    }
    int[] wrong = new int[2];
    String thrown =
        Pair.run(() -> wrong[0] = other(ranges, want), () -> wrong[1] = other(ranges, want));
    if (thrown != null) {
      return thrown;
    }
    int got = wrong[0] != want ? wrong[0] : wrong[1];
    return got == want ? null : "the hash of a range was " + got + " to a thread, and is " + want;
  }

  /** Returns a hash that differs from the others, or the one that all have. */
  private static int other(Object[] ranges, int want) {
    int other = want;
    for (Object range : ranges) {
      int hash = range.hashCode();
      if (hash != want) {
        other = hash;
      }
    }
    return other;
  }
}
