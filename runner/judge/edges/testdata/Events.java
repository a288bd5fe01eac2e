import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;

/**
 * Runs for some milliseconds in calls of every kind that stack traces of events can have: invokes, lambdas, reflection, proxies,
 * method handles, class initialisers, exceptions, class loading, monitors and parks.
 */
public class Events {
  static volatile Object sink;

  interface Shape {
    Object area(Object x);
  }

  static class Lazy {
    static final Object VALUE = allocate("lazy");
  }

  static class Loader extends ClassLoader {
    Loader() {
      super(Events.class.getClassLoader());
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
      sink = allocate(name);
      return super.loadClass(name, resolve);
    }
  }

  public static void main(String[] args) throws Exception {
    long until = System.nanoTime() + Long.parseLong(args[0]) * 1_000_000;
    sink = Lazy.VALUE;
    Method reflected = Events.class.getDeclaredMethod("allocate", Object.class);
    MethodHandle handle =
        MethodHandles.lookup()
            .findStatic(
                Events.class, "allocate", MethodType.methodType(Object.class, Object.class));
    Shape proxy =
        (Shape)
            Proxy.newProxyInstance(
                Events.class.getClassLoader(),
                new Class<?>[] {Shape.class},
                (p, m, a) -> allocate(a[0]));
    Thread waiter = new Thread(() -> contend(until), "contender");
    waiter.start();
    while (System.nanoTime() < until) {
      sink = deep((int) (System.nanoTime() % 60) + 3);
      sink = reflected.invoke(null, "reflected");
      try {
        sink = handle.invoke((Object) "handle");
        sink = (Object) handle.invokeExact((Object) "exact");
      } catch (Throwable t) {
        throw new AssertionError(t);
      }
      sink = proxy.area("proxy");
      sort();
      fail();
      sink = Class.forName("Events$Late", true, new Loader());
    }
    waiter.join();
    System.out.println("events: done");
  }

  static class Late {
    static final Object[] VALUES = {allocate("late"), new Object[50]};
  }

  static void contend(long until) {
    while (System.nanoTime() < until) {
      synchronized (Events.class) {
        sink = allocate("locked");
        LockSupport.parkNanos(200_000);
      }
    }
  }

  static void sort() {
    List<String> words = new ArrayList<>();
    for (int i = 0; i < 400; i++) {
      words.add("w" + i * 31 % 97);
    }
    words.sort(
        Comparator.comparing((String s) -> s.length()).thenComparing(Comparator.naturalOrder()));
    Map<Object, Object> counts = new HashMap<>();
    words.stream().map(w -> w + "!").forEach(w -> counts.merge(w, 1, (a, b) -> allocate(a)));
    Supplier<Object> size = counts::size;
    sink = size.get();
    synchronized (Events.class) {
      sink = allocate("mine");
    }
  }

  static void fail() {
    int[] numbers = new int[3];
    try {
      numbers[numbers.length] = 1;
    } catch (ArrayIndexOutOfBoundsException e) {
      sink = e.getStackTrace();
    }
    try {
      sink = ((Object[]) sink)[0].equals(null) ? null : (Comparable<?>) sink;
    } catch (ClassCastException | NullPointerException | ArrayIndexOutOfBoundsException e) {
      sink = e; // compiled code throws exceptions without a stack trace (OmitStackTraceInFastThrow)
    }
  }

  static Object deep(int n) {
    return n == 0 ? allocate("deep") : deep(n - 1);
  }

  static Object allocate(Object x) {
    Object[] all = new Object[40];
    for (int i = 0; i < all.length; i++) {
      all[i] = new byte[60 + i];
    }
    return all;
  }
}
