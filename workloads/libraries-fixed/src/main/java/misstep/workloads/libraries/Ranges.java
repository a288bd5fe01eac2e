package misstep.workloads.libraries;

import org.apache.commons.lang3.Range;

/** The range whose hash is computed when it is made. */
final class Ranges {
  private Ranges() {}

  static Object threeToSeven() {
    return Range.between(3, 7);
  }
}
