/** A leaf that C2 inlines into a loop: straight on, without a loop, a call or memory of its own between its push and its pop. */
public final class Inlined {
  static long leaf(long x) {
    x ^= x << 13;
    x ^= x >>> 7;
    x ^= x << 17;
    x ^= x << 13;
    x ^= x >>> 7;
    x ^= x << 17;
    x ^= x << 13;
    x ^= x >>> 7;
    x ^= x << 17;
    x ^= x << 13;
    x ^= x >>> 7;
    x ^= x << 17;
    x ^= x << 13;
    x ^= x >>> 7;
    x ^= x << 17;
    x ^= x << 13;
    x ^= x >>> 7;
    x ^= x << 17;
    x ^= x << 13;
    x ^= x >>> 7;
    x ^= x << 17;
    x ^= x << 13;
    x ^= x >>> 7;
    x ^= x << 17;
    x ^= x << 13;
    x ^= x >>> 7;
    x ^= x << 17;
    x ^= x << 13;
    x ^= x >>> 7;
    x ^= x << 17;
    x ^= x << 13;
    x ^= x >>> 7;
    x ^= x << 17;
    x ^= x << 13;
    x ^= x >>> 7;
    x ^= x << 17;
    x ^= x << 13;
    x ^= x >>> 7;
    x ^= x << 17;
    x ^= x << 13;
    x ^= x >>> 7;
    x ^= x << 17;
    return x;
  }

  static long loop(long x) {
    for (int i = 0; i < 100_000; i++) {
      x = leaf(x);
    }
    return x;
  }

  public static void main(String[] args) {
    Span span = new Span(args, 0, 1);
    long x = 88172645463325252L;
    while (!span.over()) {
      x = loop(x);
    }
    System.out.println("inlined: " + (x != 0));
  }
}
