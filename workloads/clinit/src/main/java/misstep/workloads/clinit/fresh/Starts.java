package misstep.workloads.clinit.fresh;

import java.util.function.LongSupplier;

/**
 * Triggers the initialisation of 23 classes, each in a different way or depth, and adds their
 * values.
 */
public final class Starts implements LongSupplier {
  private static final int DEPTH = 24;

  @Override
  public long getAsLong() {
    return byCall()
        + byGet()
        + byPut()
        + byNew()
        + bySuper()
        + byInterface()
        + byEnum()
        + byName()
        + chain()
        + below(DEPTH)
        + throughArray()
        + inLoop()
        + inCatch();
  }

  private static long byCall() {
    return Call.value();
  }

  private static final class Call {
    private static final long VALUE = Work.value(1);

    static long value() {
      return VALUE;
    }
  }

  private static long byGet() {
    return Get.value;
  }

  private static final class Get {
    static long value = Work.value(2);
  }

  private static long byPut() {
    Put.other = 5;
    return Put.value + Put.other - 5;
  }

  private static final class Put {
    static long value = Work.value(3);
    static long other = Work.value(0);
  }

  private static long byNew() {
    return new New().get();
  }

  private static final class New {
    private static final long VALUE = Work.value(4);

    long get() {
      return VALUE;
    }
  }

  private static long bySuper() {
    return Sub.sum();
  }

  private static class Super {
    static final long VALUE = Work.value(5);
  }

  private static final class Sub extends Super {
    private static final long OWN = Work.value(6);

    static long sum() {
      return OWN + VALUE;
    }
  }

  private static long byInterface() {
    return new Implements().given();
  }

  private interface Given {
    long VALUE = Work.value(7);

    default long given() {
      return VALUE;
    }
  }

  private static final class Implements implements Given {}

  private static long byEnum() {
    return Kind.TWO.value + Kind.ONE.ordinal();
  }

  private enum Kind {
    ONE(0),
    TWO(8);

    private final long value;

    Kind(int number) {
      this.value = number == 0 ? 0 : Work.value(number);
    }
  }

  private static long byName() {
    try {
      Class.forName(
          "misstep.workloads.clinit.fresh.Starts$Named", true, Starts.class.getClassLoader());
    } catch (ClassNotFoundException e) {
      throw new IllegalStateException(e);
    }
    return Named.value;
  }

  static final class Named {
    static long value = Work.value(9);
  }

  /** Each initialiser triggers the next: ten nested upcalls. */
  private static long chain() {
    return Chain1.SUM;
  }

  private static final class Chain1 {
    static final long SUM = Work.value(10) + Chain2.SUM;
  }

  private static final class Chain2 {
    static final long SUM = Work.value(11) + Chain3.SUM;
  }

  private static final class Chain3 {
    static final long SUM = Work.value(12) + Chain4.SUM;
  }

  private static final class Chain4 {
    static final long SUM = Work.value(13) + Chain5.SUM;
  }

  private static final class Chain5 {
    static final long SUM = Work.value(14) + Chain6.SUM;
  }

  private static final class Chain6 {
    static final long SUM = Work.value(15) + Chain7.SUM;
  }

  private static final class Chain7 {
    static final long SUM = Work.value(16) + Chain8.SUM;
  }

  private static final class Chain8 {
    static final long SUM = Work.value(17) + Chain9.SUM;
  }

  private static final class Chain9 {
    static final long SUM = Work.value(18) + Chain10.SUM;
  }

  private static final class Chain10 {
    static final long SUM = Work.value(19);
  }

  /** Triggers it at the bottom of a recursion. */
  private static long below(int depth) {
    return depth == 0 ? Below.value : below(depth - 1);
  }

  private static final class Below {
    static long value = Work.value(20);
  }

  private static long throughArray() {
    // An array of a class does not initialise it, its first element does.
    Element[] array = new Element[1];
    array[0] = new Element();
    return array[0].get();
  }

  private static final class Element {
    private static final long VALUE = Work.value(21);

    long get() {
      return VALUE;
    }
  }

  private static long inLoop() {
    long last = 0;
    for (int i = 0; i < 3; i++) {
      last = Loop.value + i - i;
    }
    return last;
  }

  private static final class Loop {
    static long value = Work.value(22);
  }

  private static long inCatch() {
    try {
      throw new IllegalStateException("as planned");
    } catch (IllegalStateException e) {
      return Caught.value;
    }
  }

  private static final class Caught {
    static long value = Work.value(23);
  }
}
