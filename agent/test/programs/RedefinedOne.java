/** The first version of the class that {@link Redefined} redefines; {@link RedefinedTwo} is the second. */
final class RedefinedOne {
  private RedefinedOne() {}

  static int value(int x, int deeper) {
    return deeper == 0 ? bottom(x) : value(x, deeper - 1) + 1;
  }

  static int bottom(int x) {
    return RedefinedLeaf.left(x);
  }

  /** Only the second version calls it. */
  static int other(int x) {
    return x;
  }
}
