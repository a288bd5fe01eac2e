package misstep.workloads.deopt.fresh;

import java.util.function.IntToLongFunction;

/** A hot loop over receivers whose classes are loaded phase by phase. */
public final class Assumptions implements IntToLongFunction {
  private static final int TURNS = 6000;

  @Override
  public long applyAsLong(int phase) {
    Receiver[] receivers = receivers(phase);
    long sum = 0;
    for (int i = 0; i < TURNS; i++) {
      sum += one(receivers[i % receivers.length], i);
    }
    return sum;
  }

  private static Receiver[] receivers(int phase) {
    Receiver[] receivers = new Receiver[phase + 1];
    for (int kind = 0; kind <= phase; kind++) {
      receivers[kind] = receiver(kind);
    }
    return receivers;
  }

  private static Receiver receiver(int kind) {
    // The later classes are referenced only in their phase.
    switch (kind) {
      case 0:
        return new Receiver();
      case 1:
        return new Twice();
      case 2:
        return new Thrice();
      case 3:
        return new Fourfold();
      case 4:
        return new Fivefold();
      default:
        return null; // a null check that has never failed before
    }
  }

  private static long one(Receiver receiver, int value) {
    try {
      return two(receiver, value);
    } catch (NullPointerException e) {
      return -1;
    }
  }

  private static long two(Receiver receiver, int value) {
    return receiver.value(value);
  }

  private static class Receiver {
    long value(int value) {
      return value;
    }
  }

  private static final class Twice extends Receiver {
    @Override
    long value(int value) {
      return 2L * value;
    }
  }

  private static final class Thrice extends Receiver {
    @Override
    long value(int value) {
      return 3L * value;
    }
  }

  private static class Fourfold extends Receiver {
    @Override
    long value(int value) {
      return 4L * value;
    }
  }

  private static final class Fivefold extends Fourfold {
    @Override
    long value(int value) {
      return super.value(value) + value;
    }
  }
}
