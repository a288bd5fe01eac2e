package misstep.programs;

import java.net.URI;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import misstep.fixtures.Constructors;
import misstep.fixtures.Exceptions;
import misstep.fixtures.Overflow;
import misstep.fixtures.Shapes;

/**
 * A bit of everything, whose output does not depend on anything but the JDK: so it must be the same
 * with the agent. With an argument it also has the JVM link every class of java.base.
 */
public final class Everything {
  private Everything() {}

  /** Prints results, and whether each thread's shadow was as before afterwards. */
  public static void main(String[] args) throws Exception {
    Depth depth = new Depth();
    long before = depth.get();
    System.out.println(Exceptions.run());
    System.out.println(Constructors.run());
    System.out.println(Shapes.run());
    System.out.println(Overflow.run());
    System.out.println(streams());
    System.out.println(threads(Executors.newFixedThreadPool(4), depth));
    System.out.println(threads(newVirtualThreads(), depth));
    if (args.length > 0) {
      System.out.println(linked(args[0]) + " linked");
    }
    System.out.println("balanced " + (before == depth.get()));
  }

  private static String streams() {
    return IntStream.range(0, 2000)
        .parallel()
        .mapToObj(i -> Integer.toString(i, 7))
        .collect(
            Collectors.groupingByConcurrent(
                String::length, ConcurrentHashMap::new, Collectors.counting()))
        .toString();
  }

  /** A thread pool of virtual threads where the JDK has them, else of ordinary ones. */
  private static ExecutorService newVirtualThreads() throws Exception {
    try {
      return (ExecutorService)
          Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null);
    } catch (NoSuchMethodException e) {
      return Executors.newCachedThreadPool();
    }
  }

  private static String threads(ExecutorService pool, Depth depth) throws Exception {
    List<Callable<String>> tasks = new ArrayList<>();
    for (int t = 0; t < 40; t++) {
      int n = t;
      tasks.add(
          () -> {
            long before = depth.get();
            int sum = waiting(n % 10);
            return (before == depth.get()) + " " + sum;
          });
    }
    Set<String> results = new TreeSet<>();
    for (Future<String> f : pool.invokeAll(tasks)) {
      results.add(f.get());
    }
    pool.shutdown();
    return results.toString();
  }

  /** Waits in several ways at some depth: a virtual thread then changes its carrier there. */
  private static int waiting(int n) {
    if (n > 0) {
      try {
        return waiting(n - 1) + 1;
      } finally {
        Thread.yield();
      }
    }
    try {
      Thread.sleep(1);
      LockSupport.parkNanos(100_000);
      synchronized (Everything.class) {
        Thread.yield();
      }
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
    return 0;
  }

  private static int linked(String module) throws Exception {
    Path root = FileSystems.getFileSystem(URI.create("jrt:/")).getPath("/modules/" + module);
    List<String> names;
    try (Stream<Path> walk = Files.walk(root)) {
      names =
          walk.map(p -> root.relativize(p).toString())
              .filter(s -> s.endsWith(".class") && !s.endsWith("module-info.class"))
              .map(s -> s.substring(0, s.length() - 6).replace('/', '.'))
              .collect(Collectors.toList());
    }
    int linked = 0;
    for (String name : names) {
      try {
        Class.forName(name, false, null).getDeclaredMethods(); // which links and verifies
        linked++;
      } catch (ClassNotFoundException | NoClassDefFoundError e) {
        System.out.println("not linked: " + e);
      }
    }
    return linked;
  }
}
