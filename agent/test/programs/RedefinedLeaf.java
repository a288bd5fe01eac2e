/** What the versions of {@link RedefinedOne} call; stays as it is. */
final class RedefinedLeaf {
  private RedefinedLeaf() {}

  static int left(int x) {
    return mix(x);
  }

  static int right(int x) {
    return mix(same(x));
  }

  static int same(int x) {
    return x;
  }

  static int mix(int x) {
    for (int i = 0; i < 1_000; i++) {
      x = x * 31 + (x >>> 3);
    }
    return x;
  }
}
