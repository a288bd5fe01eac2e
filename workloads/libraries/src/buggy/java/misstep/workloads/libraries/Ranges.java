package misstep.workloads.libraries;

import org.apache.commons.lang.math.IntRange;

/** The range whose hash is computed in the field that caches it. */
final class Ranges {
  private Ranges() {}

  static Object threeToSeven() {
    return new IntRange(3, 7);
  }
}
