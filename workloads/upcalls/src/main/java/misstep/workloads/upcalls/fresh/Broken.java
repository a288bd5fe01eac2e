package misstep.workloads.upcalls.fresh;

import misstep.workloads.upcalls.Way;

/** Triggers an initialiser that throws, repeatedly. */
public final class Broken implements Way {
  /** Needs nothing. */
  public Broken() {}

  @Override
  public Object go(int number) {
    return number % 2 == 0 ? Thrower.value : Errs.value;
  }

  private static final class Thrower {
    static int value = parse("no number");

    private static int parse(String text) {
      return Integer.parseInt(text);
    }
  }

  private static final class Errs {
    static int value = fail();

    private static int fail() {
      throw new AssertionError("as planned");
    }
  }
}
