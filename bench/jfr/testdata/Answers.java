import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import javax.management.MBeanServer;
import javax.management.ObjectName;
import javax.management.remote.JMXConnector;
import javax.management.remote.JMXConnectorFactory;
import javax.management.remote.JMXConnectorServer;
import javax.management.remote.JMXConnectorServerFactory;
import javax.management.remote.JMXServiceURL;

/**
 * Does what recordings are hard to make under: connections of RMI, threads that come and go, loaders that are unloaded, recordings
 * that are dumped and stopped at random while others last.
 *
 * <p>Arguments: what it does, with plus signs between; seconds; the seed; the prefix of the recordings.
 */
public class Answers {
  static final MBeanServer SERVER = ManagementFactory.getPlatformMBeanServer();
  public static volatile long sink;

  /** Is loaded again and again. */
  public static class Small implements Runnable {
    @Override
    public void run() {
      sink += spinsForTheProfile(12);
    }
  }

  static class Loader extends ClassLoader {
    Class<?> define(byte[] b) {
      return defineClass(null, b, 0, b.length);
    }
  }

  public static long spinsForTheProfile(int n) {
    return n < 2 ? n : spinsForTheProfile(n - 1) + spinsForTheProfile(n - 2);
  }

  static void sleepsForTheEvents() {
    try {
      while (true) {
        Thread.sleep(25);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  static void order(String what, String... arguments) throws Exception {
    SERVER.invoke(
        new ObjectName("com.sun.management:type=DiagnosticCommand"),
        what,
        new Object[] {arguments},
        new String[] {String[].class.getName()});
  }

  static Thread started(Runnable r) {
    Thread t = new Thread(r);
    t.start();
    return t;
  }

  static void orders(Set<String> on, long end, long seed, String prefix) {
    Random random = new Random(seed + 1);
    try {
      for (int i = 0; System.nanoTime() < end; i++) {
        Thread.sleep(20 + random.nextInt(150));
        if (on.contains("two")) {
          order("jfrStart", "name=b" + i, "settings=" + (i % 2 == 0 ? "default" : "profile"));
        }
        Thread.sleep(random.nextInt(150));
        if (on.contains("dumps")) {
          order("jfrDump", "name=a", "filename=" + prefix + "-dump" + i + ".jfr");
        }
        if (on.contains("two")) {
          order("jfrStop", "name=b" + i, "filename=" + prefix + "-stop" + i + ".jfr");
        }
      }
    } catch (Exception e) {
      e.printStackTrace();
    }
  }

  static byte[] classFile() throws Exception {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    try (InputStream in = Answers.class.getResourceAsStream("Answers$Small.class")) {
      byte[] buffer = new byte[4096];
      for (int n; (n = in.read(buffer)) > 0; ) {
        out.write(buffer, 0, n);
      }
    }
    return out.toByteArray();
  }

  static void connect(JMXServiceURL at) {
    try (JMXConnector c = JMXConnectorFactory.connect(at)) {
      c.getMBeanServerConnection().getMBeanCount();
    } catch (Exception e) {
      sink++; // the server ends
    }
  }

  static ExecutorService virtual() {
    try {
      return (ExecutorService)
          Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null);
    } catch (ReflectiveOperationException e) {
      return null; // before 21
    }
  }

  static void round(
      Set<String> on,
      JMXServiceURL at,
      ExecutorService virtual,
      byte[] small,
      Random random,
      Path folder)
      throws Exception {
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; at != null && i < 2; i++) {
      threads.add(started(() -> connect(at)));
    }
    for (int i = 0; on.contains("threads") && i < 20; i++) {
      int k = i;
      threads.add(
          started(
              () -> {
                if (k % 5 == 0) {
                  Thread.currentThread().setName("renamed-" + k);
                }
                sink += spinsForTheProfile(14);
              }));
    }
    List<Future<?>> futures = new ArrayList<>();
    for (int i = 0; virtual != null && i < 50; i++) {
      futures.add(
          virtual.submit(
              () -> {
                Thread.sleep(2);
                return sink += spinsForTheProfile(10);
              }));
    }
    for (Future<?> f : futures) {
      f.get();
    }
    for (int i = 0; on.contains("classes") && i < 10; i++) {
      ((Runnable) new Loader().define(small).getDeclaredConstructor().newInstance()).run();
    }
    if (on.contains("classes") && random.nextInt(20) == 0) {
      System.gc();
    }
    if (on.contains("files")) {
      Path p = Files.createTempFile(folder, "f", ".tmp");
      Files.write(p, new byte[random.nextInt(5000)]);
      sink += Files.readAllBytes(p).length;
      Files.delete(p);
    }
    Object lock = new Object();
    for (int i = 0; on.contains("locks") && i < 4; i++) {
      threads.add(
          started(
              () -> {
                synchronized (lock) {
                  sink += spinsForTheProfile(16);
                  lock.notifyAll();
                }
              }));
    }
    for (int i = 0; i < 200; i++) {
      sink += new byte[random.nextInt(20000)].length + spinsForTheProfile(10 + random.nextInt(12));
    }
    for (Thread t : threads) {
      t.join();
    }
  }

  public static void main(String[] args) throws Exception {
    Set<String> on = new HashSet<>(Arrays.asList(args[0].split("\\+")));
    long end = System.nanoTime() + (long) (Double.parseDouble(args[1]) * 1e9);
    long seed = Long.parseLong(args[2]);
    Random random = new Random(seed);
    JMXServiceURL at = null;
    if (on.contains("rmi")) {
      JMXConnectorServer server =
          JMXConnectorServerFactory.newJMXConnectorServer(
              new JMXServiceURL("service:jmx:rmi://"), null, SERVER);
      server.start();
      at = server.getAddress();
    }
    Thread sleeper = new Thread(Answers::sleepsForTheEvents);
    sleeper.setDaemon(true);
    sleeper.start();
    Thread orders = started(() -> orders(on, end, seed, args[3]));
    ExecutorService virtual = on.contains("virtual") ? virtual() : null;
    Path folder = Paths.get(args[3]).toAbsolutePath().getParent();
    while (System.nanoTime() < end) {
      round(on, at, virtual, classFile(), random, folder);
    }
    orders.join();
    System.exit(0);
  }
}
