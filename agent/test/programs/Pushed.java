/**
 * Checks an object for its interfaces, on top of some frames. If the class's cache of one interface
 * (secondary super cache) has another one, C1 calls a stub for the check and pushes both classes
 * onto the stack for it. With the argument "other" two interfaces alternate in the cache, with
 * "same" one stays there.
 */
public final class Pushed {
  interface A {}

  interface B {}

  static class Both implements A, B {}

  static int checks(Object o, boolean other) {
    int sum = 0;
    for (int i = 0; i < 1_000; i++) {
      if (o instanceof A) {
        sum++;
      }
      if (other ? o instanceof B : o instanceof A) {
        sum++;
      }
    }
    return sum;
  }

  static int outer(Object o, boolean other) {
    return checks(o, other) + 1;
  }

  public static void main(String[] args) {
    Object o = new Both();
    long sum = 0;
    long n = 0;
    for (Span span = new Span(args, 1, 1); !span.over(); n++) {
      sum += outer(o, args[0].equals("other"));
    }
    if (sum != n * 2_001) {
      System.exit(3);
    }
    System.out.println("pushed: verified");
  }
}
