/**
 * The second version of {@link RedefinedOne}, whose name it gets: the same results by other calls at
 * other places.
 */
final class RedefinedTwo {
  private RedefinedTwo() {}

  static int value(int x, int deeper) {
    int sum = 0;
    for (int i = 0; i < 3; i++) {
      sum += i;
    }
    if (deeper == 0) {
      return RedefinedLeaf.right(x);
    }
    return other(value(x, deeper - 1)) + sum - 2;
  }

  static int bottom(int x) {
    return other(x) - x + RedefinedLeaf.right(x);
  }

  static int other(int x) {
    int y = x + 5;
    return RedefinedLeaf.same(y) - 5;
  }
}
