package misstep.workloads.libraries;

import org.apache.commons.lang.math.IntRange;

/**
 * LANG-481, commons-lang 2.4 to 2.6: IntRange.hashCode computes in the field in which it keeps the
 * result, so another thread may read an intermediate value.
 */
final class LangHash implements Bug {
  private static final int TIMES = 200;

  @Override
  public String round() throws Exception {
    int want = new IntRange(3, 7).hashCode();
    IntRange[] ranges = new IntRange[TIMES];
    for (int i = 0; i < TIMES; i++) {
      ranges[i] = new IntRange(3, 7);
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
  private static int other(IntRange[] ranges, int want) {
    int other = want;
    for (IntRange range : ranges) {
      int hash = range.hashCode();
      if (hash != want) {
        other = hash;
      }
    }
    return other;
  }
}
