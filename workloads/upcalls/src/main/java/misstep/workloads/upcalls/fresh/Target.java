package misstep.workloads.upcalls.fresh;

/** Called by reflection. */
@misstep.workloads.upcalls.Marked
public final class Target {
  private enum Kind {
    PLAIN,
    SPECIAL {
      @Override
      int more() {
        return 1;
      }
    };

    int more() {
      return 1;
    }
  }

  private Target() {}

  /**
   * Adds one.
   *
   * @param number not below 0
   * @return the next number
   */
  public static int call(int number) {
    if (number < 0) {
      // An enum's valueOf throws it.
      return Kind.valueOf("ABSENT").ordinal();
    }
    return number + Kind.valueOf(number % 2 == 0 ? "PLAIN" : "SPECIAL").more();
  }
}
