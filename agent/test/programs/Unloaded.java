import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.locks.LockSupport;
import java.util.function.IntUnaryOperator;

/**
 * Defines the same two classes again and again, each time in a new class loader, and has threads call them often enough
 * to be compiled. Meanwhile another thread collects garbage, which unloads those that are not used any more.
 */
public final class Unloaded {
  private static final int THREADS = 3;
  private static final int CALLS = 2_000;
  private static final int LEAST_ROUNDS = 10;
  private static final long PAUSE_NANOS = 20_000_000;

  private static volatile boolean stop;

  private Unloaded() {}

  static class Base {
    int down(int x, int deeper) {
      return deeper == 0 ? leaf(x) : down(x, deeper - 1) + 1;
    }

    int leaf(int x) {
      return x;
    }
  }

  /** What is defined, with its superclass. */
  public static class Work extends Base implements IntUnaryOperator {
    public Work() {}

    @Override
    int leaf(int x) {
      for (int i = 0; i < 100; i++) {
        x = x * 31 + (x >>> 3);
      }
      return x;
    }

    @Override
    public int applyAsInt(int x) {
      return down(x, x & 7);
    }
  }

  static final class Loader extends ClassLoader {
    private static final String[] NAMES = {"Unloaded$Base", "Unloaded$Work"};
    private static final byte[][] FILES = {read(NAMES[0]), read(NAMES[1])};

    Loader() {
      super(Unloaded.class.getClassLoader());
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
      for (int i = 0; i < NAMES.length; i++) {
        if (NAMES[i].equals(name)) {
          Class<?> known = findLoadedClass(name);
          return known != null ? known : defineClass(name, FILES[i], 0, FILES[i].length);
        }
      }
      return super.loadClass(name, resolve);
    }

    private static byte[] read(String name) {
      try (InputStream in = Unloaded.class.getResourceAsStream(name + ".class")) {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        for (int b = in.read(); b >= 0; b = in.read()) {
          all.write(b);
        }
        return all.toByteArray();
      } catch (IOException e) {
        throw new IllegalStateException(e);
      }
    }
  }

  static int sum(IntUnaryOperator work) {
    int sum = 0;
    for (int i = 0; i < CALLS; i++) {
      sum += work.applyAsInt(i);
    }
    return sum;
  }

  /** One pair of classes, of which nothing is left behind. */
  static void round(ExecutorService pool, int expected) throws Exception {
    IntUnaryOperator work =
        (IntUnaryOperator) new Loader().loadClass("Unloaded$Work").getConstructor().newInstance();
    List<Callable<Integer>> calls = new ArrayList<>(Collections.nCopies(THREADS, () -> sum(work)));
    for (Future<Integer> result : pool.invokeAll(calls)) {
      if (result.get() != expected) {
        System.exit(3);
      }
    }
  }

  public static void main(String[] args) throws Exception {
    Span span = new Span(args, 0, 1);
    Thread collector =
        new Thread("collector") {
          @Override
          public void run() {
            while (!stop) {
              System.gc();
              LockSupport.parkNanos(PAUSE_NANOS);
            }
          }
        };
    int expected = sum(new Work());
    ExecutorService pool = Executors.newFixedThreadPool(THREADS);
    collector.start();
    int rounds = 0;
    for (; rounds < LEAST_ROUNDS || !span.over(); rounds++) {
      round(pool, expected);
    }
    stop = true;
    pool.shutdown();
    collector.join();
    System.gc();
    long unloaded = ManagementFactory.getClassLoadingMXBean().getUnloadedClassCount();
    System.out.println("unloaded: verified " + rounds + " rounds, " + unloaded + " classes");
  }
}
