package misstep.workloads.exceptions;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.SplittableRandom;
import java.util.function.IntUnaryOperator;
import misstep.workloads.Harness;
import misstep.workloads.ValidationException;

/**
 * Throws from random depths through every kind of call; checks where each is caught and its trace.
 */
public final class Main {
  private static final int MAX_DEPTH = 60;

  private Main() {}

  /**
   * Runs the workload.
   *
   * @param args number of throws, seed
   */
  public static void main(String[] args) {
    int size = Harness.argument(args, 0, 40_000);
    int seed = Harness.argument(args, 1, 7);
    Harness.run(
        (index, scratch) -> {
          SplittableRandom random = new SplittableRandom(seed + index);
          for (int i = 0; i < size; i++) {
            thrown(random, i);
          }
          for (int i = 0; i < 20; i++) {
            overflow();
          }
        });
  }

  /** An exception that knows at which depth it was thrown. */
  private static final class Thrown extends RuntimeException {
    private static final long serialVersionUID = 1L;
    private final int number;

    Thrown(int number, boolean trace) {
      super("number " + number, null, false, trace);
      this.number = number;
    }
  }

  private static void thrown(SplittableRandom random, int number) throws ValidationException {
    int depth = 1 + random.nextInt(MAX_DEPTH);
    boolean trace = random.nextInt(4) == 0;
    Calls calls = new Calls(random.nextLong(), number, trace);
    try {
      calls.down(depth);
      throw new ValidationException("throw " + number + " was lost");
    } catch (Thrown e) {
      ValidationException.equal("number of the exception", number, e.number);
      ValidationException.equal("calls begun", depth + 1, calls.begun);
      ValidationException.equal("finally blocks", depth + 1, calls.ended);
      if (trace) {
        long frames = 0;
        for (StackTraceElement frame : e.getStackTrace()) {
          if (frame.getMethodName().equals("down")
              && frame.getClassName().equals(Calls.class.getName())) {
            frames++;
          }
        }
        ValidationException.equal("frames of down in the trace", depth + 1, frames);
        StackTraceElement thrower = e.getStackTrace()[0];
        ValidationException.equal("thrower", "raise", thrower.getMethodName());
      }
    }
  }

  /**
   * Recurses by a plain, interface, reflective, proxy, lambda or method-handle call, chosen at
   * random.
   */
  private static final class Calls implements IntUnaryOperator {
    private static final Method REFLECTED;
    private static final MethodHandle HANDLE;

    static {
      try {
        REFLECTED = Calls.class.getDeclaredMethod("down", int.class);
        HANDLE =
            MethodHandles.lookup()
                .findVirtual(Calls.class, "down", MethodType.methodType(int.class, int.class));
      } catch (ReflectiveOperationException e) {
        throw new ExceptionInInitializerError(e);
      }
    }

    private final SplittableRandom random;
    private final int number;
    private final boolean trace;
    private final IntUnaryOperator proxy;
    private int begun;
    private int ended;

    Calls(long seed, int number, boolean trace) {
      this.random = new SplittableRandom(seed);
      this.number = number;
      this.trace = trace;
      this.proxy =
          (IntUnaryOperator)
              Proxy.newProxyInstance(
                  Main.class.getClassLoader(),
                  new Class<?>[] {IntUnaryOperator.class},
                  (self, method, arguments) -> down((int) arguments[0]));
    }

    @Override
    public int applyAsInt(int depth) {
      return down(depth);
    }

    int down(int depth) {
      begun++;
      try {
        if (depth == 0) {
          return raise();
        }
        return further(depth - 1) + 1;
      } finally {
        ended++;
      }
    }

    private int raise() {
      throw new Thrown(number, trace);
    }

    private int further(int depth) {
      switch (random.nextInt(6)) {
        case 0:
          return applyAsInt(depth);
        case 1:
          try {
            return (int) REFLECTED.invoke(this, depth);
          } catch (InvocationTargetException e) {
            throw (Thrown) e.getCause();
          } catch (IllegalAccessException e) {
            throw new AssertionError(e);
          }
        case 2:
          return proxy.applyAsInt(depth);
        case 3:
          IntUnaryOperator lambda = d -> down(d);
          return lambda.applyAsInt(depth);
        case 4:
          try {
            return (int) HANDLE.invokeExact(this, depth);
          } catch (Thrown e) {
            throw e;
          } catch (Throwable e) {
            throw new AssertionError(e);
          }
        default:
          return down(depth);
      }
    }
  }

  /** Overflows the stack, recovers, and checks its counters. */
  private static void overflow() throws ValidationException {
    Counter counter = new Counter();
    try {
      counter.endless();
      throw new ValidationException("the stack has no end");
    } catch (StackOverflowError e) {
      if (counter.depth < 500) {
        throw new ValidationException("the stack ended at depth " + counter.depth);
      }
    }
  }

  private static final class Counter {
    private int depth;

    int endless() {
      depth++;
      return endless() + depth;
    }
  }
}
