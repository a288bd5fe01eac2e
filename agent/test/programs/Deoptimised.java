/**
 * A compiled caller is deoptimised while its callee runs: the callee loads a class that overrides a method of which the caller was
 * compiled in the belief that nobody overrides it. With the argument "kept" the class is of no
 * concern to the caller, which stays.
 */
public final class Deoptimised {
  static class Base {
    int f() {
      return 1;
    }
  }

  static class Overrides extends Base {
    @Override
    int f() {
      return 3;
    }
  }

  static class Unrelated {}

  static int outer(Base b, String load) throws ReflectiveOperationException {
    int r = b.f();
    r += inner(load);
    return r + b.f();
  }

  /** The class must not be known before: by its name, for the verifier would load what the code names. */
  static int inner(String load) throws ReflectiveOperationException {
    if (load == null) {
      return 0;
    }
    return probe(Class.forName(load).getDeclaredConstructor().newInstance());
  }

  /** Its entry is checked, and it runs long enough to be sampled: outer is deoptimised by then, or not. */
  static int probe(Object o) {
    int x = 1;
    for (int i = 0; i < 30_000_000; i++) {
      x = x * 31 + i;
    }
    return o == null || x == 0 ? 1 : 2;
  }

  public static void main(String[] args) throws ReflectiveOperationException {
    Base base = new Base();
    long sum = 0;
    for (int i = 0; i < 20_000; i++) {
      sum += outer(base, null);
    }
    sum += outer(base, args[0].equals("kept") ? "Deoptimised$Unrelated" : "Deoptimised$Overrides");
    if (sum != 40_004) {
      System.exit(3);
    }
    System.out.println("deoptimised: verified");
  }
}
