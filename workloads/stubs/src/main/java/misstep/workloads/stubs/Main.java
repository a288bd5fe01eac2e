package misstep.workloads.stubs;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import misstep.workloads.Harness;
import misstep.workloads.ValidationException;

/** Spends its time in the VM's stubs and in the first instructions of called methods. */
public final class Main {
  private static final int SIZE = 2048;

  private Main() {}

  /**
   * Runs the workload.
   *
   * @param args rounds of one repetition
   */
  public static void main(String[] args) {
    int rounds = Harness.argument(args, 0, 30);
    Harness.run(
        (index, scratch) -> {
          SplittableRandom random = new SplittableRandom(index + 1);
          for (int i = 0; i < rounds; i++) {
            Copies.run(random, SIZE);
            calls(i);
          }
        });
  }

  private static void calls(int round) throws ValidationException {
    List<Shape> shapes = new ArrayList<>();
    List<Sized> sized = new ArrayList<>();
    for (int i = 0; i < 6000; i++) {
      Shape shape = Shape.of(i % 8, i);
      shapes.add(shape);
      sized.add(i % 2 == 0 ? shape : new Tagged(i));
    }
    long virtual = 0;
    long byInterface = 0;
    long expectedVirtual = 0;
    long expectedInterface = 0;
    for (int turn = 0; turn < 20; turn++) {
      for (int i = 0; i < shapes.size(); i++) {
        virtual += shapes.get(i).area(turn);
        byInterface += sized.get(i).size(turn) + sized.get(i).doubled(turn);
        expectedVirtual += (long) (i % 8 + 1) * (i + turn);
        expectedInterface += 3L * (i + turn);
      }
    }
    ValidationException.equal("virtual calls of round " + round, expectedVirtual, virtual);
    ValidationException.equal("interface calls of round " + round, expectedInterface, byInterface);
  }

  interface Sized {
    long size(int turn);

    default long doubled(int turn) {
      return 2 * size(turn);
    }
  }

  private static final class Tagged implements Sized {
    private final int value;

    Tagged(int value) {
      this.value = value;
    }

    @Override
    public long size(int turn) {
      return value + turn;
    }
  }

  /**
   * A class with eight subclasses: too many for an inline cache, so that calls go through the
   * vtable.
   */
  abstract static class Shape implements Sized {
    final int value;

    Shape(int value) {
      this.value = value;
    }

    abstract long area(int turn);

    @Override
    public long size(int turn) {
      return value + turn;
    }

    static Shape of(int kind, int value) {
      switch (kind) {
        case 0:
          return new One(value);
        case 1:
          return new Two(value);
        case 2:
          return new Three(value);
        case 3:
          return new Four(value);
        case 4:
          return new Five(value);
        case 5:
          return new Six(value);
        case 6:
          return new Seven(value);
        default:
          return new Eight(value);
      }
    }
  }

  private static final class One extends Shape {
    One(int value) {
      super(value);
    }

    @Override
    long area(int turn) {
      return value + turn;
    }
  }

  private static final class Two extends Shape {
    Two(int value) {
      super(value);
    }

    @Override
    long area(int turn) {
      return 2L * (value + turn);
    }
  }

  private static final class Three extends Shape {
    Three(int value) {
      super(value);
    }

    @Override
    long area(int turn) {
      return 3L * (value + turn);
    }
  }

  private static final class Four extends Shape {
    Four(int value) {
      super(value);
    }

    @Override
    long area(int turn) {
      return 4L * (value + turn);
    }
  }

  private static final class Five extends Shape {
    Five(int value) {
      super(value);
    }

    @Override
    long area(int turn) {
      return 5L * (value + turn);
    }
  }

  private static final class Six extends Shape {
    Six(int value) {
      super(value);
    }

    @Override
    long area(int turn) {
      return 6L * (value + turn);
    }
  }

  private static final class Seven extends Shape {
    Seven(int value) {
      super(value);
    }

    @Override
    long area(int turn) {
      return 7L * (value + turn);
    }
  }

  private static final class Eight extends Shape {
    Eight(int value) {
      super(value);
    }

    @Override
    long area(int turn) {
      return Arrays.stream(new long[] {8, value + turn}).reduce(1, (a, b) -> a * b);
    }
  }
}
