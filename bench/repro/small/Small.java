import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.function.IntSupplier;

/**
 * Programs of a few milliseconds, each with one kind of stack, so that a trial costs little more
 * than its JVM: measurements with them take many thousand trials. The arguments are the
 * program's name and two numbers, which are optional for programs with an upcall.
 *
 * <p>The programs named after an upcall run a method in one that compiled code causes. The causing
 * code is compiled before, in the background unless {@code -Xbatch} waits for it, because it is
 * called so often: the expensive {@code -Xcomp} is not needed.
 */
public final class Small {
  private static volatile int sink;

  private Small() {}

  public static void main(String[] args) throws Throwable {
    int first = args.length > 1 ? Integer.parseInt(args[1]) : 400;
    int second = args.length > 2 ? Integer.parseInt(args[2]) : 3;
    Begin begin;
    switch (args[0]) {
      case "calls":
        for (int i = 0; i < second * repetitions(); i++) {
          check(outer(first), 2 * first + 4);
        }
        end();
        return;
      case "spin":
        for (int i = 0; i < repetitions(); i++) {
          spin(first, second);
        }
        end();
        return;
      case "race": // planted races: 1 CheckThenAct, 2 LostUpdate, 3 Publication, 4 Shutdown
        String[] iterations = {args[2]};
        if (first == 1) {
          CheckThenAct.main(iterations);
        } else if (first == 2) {
          LostUpdate.main(iterations);
        } else if (first == 3) {
          Publication.main(iterations);
        } else {
          Shutdown.main(iterations);
        }
        return;
      case "yield":
        yieldsOnAVirtualThread(first, second);
        end();
        return;
      case "clinit":
        begin = again -> again ? 1 : Initialised.value;
        break;
      case "lambda":
        begin = again -> again ? 1 : linked();
        break;
      case "handle":
        begin = new Handle();
        break;
      case "finalizer":
        begin = again -> again ? 1 : new Finalized().value;
        break;
      case "loader":
        begin =
            (Begin) new Loader().findClass("Small$Loads").getDeclaredConstructor().newInstance();
        break;
      default:
        throw new IllegalArgumentException("no program \"" + args[0] + "\"");
    }
    for (int i = 0; i < first; i++) {
      check(down(second, begin, true), 1);
    }
    check(down(second, begin, false), 144);
    end();
  }

  /** For the programs "calls" and "spin"; the others make one upcall. */
  private static int repetitions() {
    return Math.max(1, Integer.getInteger("misstep.repetitions", 1));
  }

  static void end() {
    System.out.println(
        "misstep: "
            + System.getProperty("misstep.name")
            + " verified "
            + System.getProperty("misstep.repetitions")
            + " repetitions");
  }

  private static void check(int got, int want) {
    if (got != want) {
      System.err.println(
          "misstep: "
              + System.getProperty("misstep.name")
              + " validation failed: got "
              + got
              + ", want "
              + want);
      System.exit(3);
    }
  }

  // calls: main, outer, middle to the requested depth, inner, a leaf, and a second caller of leaf.

  static int outer(int n) {
    return middle(n) + 1;
  }

  static int middle(int n) {
    return n == 0 ? inner(1) + beside(1) : middle(n - 1) + 2;
  }

  static int inner(int n) {
    return leaf(n) + 1;
  }

  static int leaf(int n) {
    return n;
  }

  static int beside(int n) {
    return leaf(n);
  }

  /** Runs for some milliseconds at a depth. */
  static void spin(int depth, int millis) {
    if (depth > 0) {
      spin(depth - 1, millis);
      return;
    }
    long end = System.nanoTime() + millis * 1_000_000L;
    while (System.nanoTime() < end) {
      sink = fibonacci(10);
    }
  }

  /** On the current thread if there are no virtual threads (before 21). */
  private static void yieldsOnAVirtualThread(int depth, int rounds) throws Throwable {
    Runnable r = () -> yields(depth, rounds);
    Thread t;
    try {
      t = (Thread) Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, r);
    } catch (NoSuchMethodException e) {
      r.run();
      return;
    }
    t.join();
  }

  static void yields(int depth, int rounds) {
    if (depth > 0) {
      yields(depth - 1, rounds);
      return;
    }
    for (int i = 0; i < rounds; i++) {
      Thread.yield();
      sink = fibonacci(3);
    }
  }

  static int fibonacci(int n) {
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
  }

  static int down(int depth, Begin begin, boolean again) throws Throwable {
    return depth > 0 ? down(depth - 1, begin, again) : begin.run(again);
  }

  /** Begins an upcall and returns 144, unless again: then returns 1. */
  public interface Begin {
    int run(boolean again) throws Throwable;
  }

  static final class Initialised {
    static int value = fibonacci(12);
  }

  static int linked() {
    IntSupplier s = () -> fibonacci(12);
    return s.getAsInt();
  }

  static final class Handle implements Begin {
    private static final MethodHandle FIBONACCI;

    static {
      try {
        FIBONACCI =
            MethodHandles.lookup()
                .findStatic(Small.class, "fibonacci", MethodType.methodType(int.class, int.class));
      } catch (ReflectiveOperationException e) {
        throw new ExceptionInInitializerError(e);
      }
    }

    @Override
    public int run(boolean again) throws Throwable {
      return again ? 1 : (int) FIBONACCI.invokeExact(12);
    }
  }

  static final class Finalized {
    final int value = 144;

    @Override
    @SuppressWarnings({"deprecation", "removal"})
    protected void finalize() {
      sink = value;
    }
  }

  /** Defined by its own loader, from which compiled code then requests another class. */
  public static final class Loads implements Begin {
    public Loads() {}

    @Override
    public int run(boolean again) {
      return again ? 1 : new Loaded().value;
    }
  }

  static final class Loaded {
    final int value = 144;
  }

  private static final class Loader extends ClassLoader {
    Loader() {
      super(Small.class.getClassLoader());
    }

    @Override
    public Class<?> loadClass(String name) throws ClassNotFoundException {
      sink = fibonacci(8);
      return name.equals("Small$Loaded") ? findClass(name) : super.loadClass(name);
    }

    @Override
    public Class<?> findClass(String name) throws ClassNotFoundException {
      try (java.io.InputStream in = Small.class.getResourceAsStream("/" + name + ".class")) {
        byte[] bytes = new byte[1 << 14];
        int size = 0;
        for (int n = 0; n >= 0; n = in.read(bytes, size, bytes.length - size)) {
          size += n;
        }
        return defineClass(name, bytes, 0, size);
      } catch (java.io.IOException e) {
        throw new ClassNotFoundException(name, e);
      }
    }
  }
}
