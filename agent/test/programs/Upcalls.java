import java.io.InputStream;
import java.lang.invoke.CallSite;
import java.lang.invoke.ConstantCallSite;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Proxy;
import java.util.concurrent.Callable;
import java.util.function.IntBinaryOperator;
import java.util.function.Supplier;

/**
 * Has methods of its own run under every kind of call that is no plain invoke: what the VM calls by itself (class
 * initialisation, class loading at each instruction that resolves a class, linking), method handles of many shapes,
 * lambdas, reflection, proxies, native callers.
 */
public final class Upcalls {
  static int calls;

  /** What the others call, so that there is an entry to check above them. */
  public static int mark(int n) {
    calls++;
    return n;
  }

  /** Defines its own copies of the classes below, so that each of them is asked of it by the VM. */
  static final class Own extends ClassLoader {
    Own() {
      super(Upcalls.class.getClassLoader());
    }

    @Override
    public Class<?> loadClass(String name) throws ClassNotFoundException {
      mark(1);
      return super.loadClass(name);
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
      if (!name.startsWith("Upcalls$Own_")) {
        return super.loadClass(name, resolve);
      }
      synchronized (getClassLoadingLock(name)) {
        Class<?> known = findLoadedClass(name);
        if (known != null) {
          return known;
        }
        try (InputStream in = Upcalls.class.getResourceAsStream(name + ".class")) {
          byte[] file = new byte[1 << 16];
          int size = 0;
          for (int n = 0; n >= 0; n = in.read(file, size, file.length - size)) {
            size += n;
          }
          return defineClass(name, file, 0, size);
        } catch (Exception e) {
          throw new ClassNotFoundException(name, e);
        }
      }
    }
  }

  static class Own_New {
    static final int VALUE = mark(2);
  }

  static class Own_Static {
    static int field = mark(3);

    static int call() {
      return mark(field);
    }
  }

  static class Own_Call {
    static int run() {
      return mark(4);
    }
  }

  static class Own_Cast {}

  static class Own_Instance {}

  static class Own_Array {}

  static class Own_Arrays {}

  static class Own_Literal {}

  static class Own_Caught extends RuntimeException {
    private static final long serialVersionUID = 1;
  }

  static class Own_Signature {}

  static class Own_Missing {}

  /** Each of its instructions makes the VM resolve a class through the loader that defined it. */
  public static class Own_User implements Callable<Integer> {
    static Object nothing;

    static int wanted(Own_Signature s) {
      return mark(s == null ? 1 : 2);
    }

    @Override
    public Integer call() {
      int sum = new Own_New().hashCode() & 1;
      sum += Own_Static.field + Own_Static.call();
      Own_Static.field = 5;
      sum += Own_Call.run();
      sum += nothing instanceof Own_Instance ? 1 : 0;
      sum += ((Own_Cast) nothing) == null ? 1 : 0;
      sum += new Own_Array[1].length + new Own_Arrays[1][1].length;
      sum += Own_Literal.class.getName().length();
      sum += wanted(null);
      try {
        sum += 7 / (sum - sum);
      } catch (Own_Caught e) {
        sum++;
      } catch (ArithmeticException e) {
        sum += 2;
      }
      return sum;
    }
  }

  static int shapes(byte b, long j, String s, int[] array, double d) {
    return mark((int) (b + j + s.length() + array.length + d));
  }

  boolean instance(char c) {
    return mark(c) == c;
  }

  static void nothing(Object o) {
    mark(0);
  }

  static int handles() throws Throwable {
    MethodHandles.Lookup lookup = MethodHandles.lookup();
    MethodHandle shapes =
        lookup.findStatic(
            Upcalls.class,
            "shapes",
            MethodType.methodType(
                int.class, byte.class, long.class, String.class, int[].class, double.class));
    int sum = (int) shapes.invokeExact((byte) 1, 2L, "abc", new int[4], 5.0);
    sum += (int) (Integer) shapes.invoke((byte) 1, 2, "abc", new int[4], 5f);
    MethodHandle bound = MethodHandles.insertArguments(shapes, 0, (byte) 3, 4L);
    sum += (int) bound.invokeExact("x", new int[0], 1.0);
    MethodHandle instance =
        lookup.findVirtual(
            Upcalls.class, "instance", MethodType.methodType(boolean.class, char.class));
    sum += (boolean) instance.invokeExact(new Upcalls(), 'c') ? 1 : 0;
    MethodHandle nothing =
        lookup.findStatic(
            Upcalls.class, "nothing", MethodType.methodType(void.class, Object.class));
    nothing.invoke("text");
    MethodHandle make =
        lookup.findConstructor(Made.class, MethodType.methodType(void.class, int.class));
    sum += ((Made) make.invokeExact(6)).value;
    MethodHandle guarded =
        MethodHandles.catchException(
            shapes,
            NullPointerException.class,
            MethodHandles.dropArguments(
                MethodHandles.constant(int.class, 8), 0, NullPointerException.class));
    sum += (int) guarded.invokeExact((byte) 1, 2L, (String) null, new int[4], 5.0);
    CallSite site = new ConstantCallSite(shapes);
    sum += (int) site.dynamicInvoker().invokeWithArguments((byte) 1, 1L, "y", new int[1], 1.0);
    return sum;
  }

  static final class Made {
    final int value;

    Made(int value) {
      this.value = mark(value);
    }
  }

  enum Colour {
    RED,
    GREEN {
      @Override
      int paint() {
        return mark(2);
      }
    };

    int paint() {
      return mark(1);
    }
  }

  interface Greeter {
    default int greet() {
      return mark(9) + name().length();
    }

    String name();
  }

  static final class Named implements Greeter {
    private final String name;

    Named(String name) {
      this.name = name;
    }

    @Override
    public String name() {
      return name;
    }
  }

  static int round() throws Throwable {
    int sum = 0;
    sum +=
        (Integer)
            ((Callable<?>) new Own().loadClass("Upcalls$Own_User").getConstructor().newInstance())
                .call();
    sum += handles();
    IntBinaryOperator add = (a, b) -> mark(a) + b;
    sum += add.applyAsInt(1, 2);
    Supplier<Made> maker = () -> new Made(3);
    sum += maker.get().value;
    IntBinaryOperator max = Upcalls::larger;
    sum += max.applyAsInt(3, 4);
    sum += ("text" + sum + add).length() > 0 ? 1 : 0;
    sum += (Integer) Upcalls.class.getDeclaredMethod("mark", int.class).invoke(null, 5);
    sum += Upcalls.class.getDeclaredConstructor().newInstance().instance('x') ? 1 : 0;
    Comparable<?> proxy =
        (Comparable<?>)
            Proxy.newProxyInstance(
                Upcalls.class.getClassLoader(),
                new Class<?>[] {Comparable.class},
                (self, method, arguments) -> mark(arguments == null ? 0 : arguments.length));
    @SuppressWarnings("unchecked")
    Comparable<Object> comparable = (Comparable<Object>) proxy;
    sum += comparable.compareTo("x");
    for (Colour c : Colour.values()) {
      sum += c.paint();
    }
    Greeter greeter = new Named("a");
    sum += greeter.greet();
    sum +=
        java.security.AccessController.doPrivileged(
            (java.security.PrivilegedAction<Integer>) () -> mark(4));
    Thread thread =
        new Thread(
            () -> {
              mark(1);
              throw new IllegalStateException("expected");
            });
    thread.setUncaughtExceptionHandler((t, e) -> mark(2));
    thread.start();
    thread.join();
    int[] grid = new int[] {3, 1, 2};
    sum +=
        java.util.Arrays.stream(grid).boxed().sorted((a, b) -> mark(b) - a).mapToInt(x -> x).sum();
    return sum;
  }

  static int larger(int a, int b) {
    return mark(Math.max(a, b));
  }

  public static void main(String[] args) throws Throwable {
    int rounds = Integer.parseInt(args[0]);
    for (int i = 0; i < rounds; i++) {
      round();
    }
    if (calls < 20 * rounds) {
      System.exit(3);
    }
    System.out.println("upcalls: verified " + calls);
  }
}
