import java.io.File;
import java.io.FileOutputStream;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;

/** Programs that misbehave in one way each; the first argument chooses. They speak the plain harness's protocol. */
public class Fixture {
  public static void main(String[] args) throws Exception {
    if (args[0].equals("after")) { // misbehaves after some milliseconds of work
      work(Long.parseLong(args[1]));
      args = java.util.Arrays.copyOfRange(args, 2, args.length);
    }
    switch (args[0]) {
      case "verified":
        break;
      case "exit":
        System.err.println("some words before the end");
        System.exit(Integer.parseInt(args[1]));
        break;
      case "invalid":
        System.err.println("misstep: fixture validation failed: 1 is not 2");
        System.exit(3);
        break;
      case "throw":
        throw new IllegalStateException("thrown on purpose");
      case "silent":
        return;
      case "environment":
        System.out.println(System.getenv());
        System.out.println(
            "tmpdir "
                + System.getProperty("java.io.tmpdir")
                + " home "
                + System.getProperty("user.home"));
        System.out.println("cwd " + new File("").getAbsolutePath());
        break;
      case "work":
        work(Long.parseLong(args[1]));
        break;
      case "naps":
        naps(Long.parseLong(args[1]));
        break;
      case "loop":
        loop();
        break;
      case "eat":
        List<byte[]> meals = new ArrayList<>();
        while (true) {
          byte[] meal = new byte[1 << 20];
          java.util.Arrays.fill(meal, (byte) 1);
          meals.add(meal);
        }
      case "print":
        byte[] line =
            "a line of the flood that never ends and never says anything\n".getBytes("US-ASCII");
        byte[] lines = new byte[line.length * 1000];
        for (int i = 0; i < lines.length; i++) lines[i] = line[i % line.length];
        while (true) System.out.write(lines, 0, lines.length);
      case "fill":
        try (FileOutputStream out = new FileOutputStream("flood")) {
          byte[] block = new byte[1 << 20];
          while (true) out.write(block);
        }
      case "nest": // folders in folders, which take next to no space
        File folder = new File("nest");
        for (int i = 0; i < 300; i++) {
          if (!folder.mkdir()) throw new java.io.IOException(folder + " is not made");
          folder = new File(folder, "d");
        }
        loop();
        break;
      case "files": // files without content
        for (int i = 0; i < 150_000; i++) new File("file" + i).createNewFile();
        loop();
        break;
      case "processes":
        for (int i = 0; i < 400; i++) new ProcessBuilder("sleep", "1000").start();
        loop();
        break;
      case "fork":
        new ProcessBuilder("sh", "-c", "setsid sleep 1000 & sleep 1000 & exit 0")
            .inheritIO()
            .start()
            .waitFor();
        break;
      case "fork-and-loop":
        new ProcessBuilder("setsid", "sleep", "1000").inheritIO().start();
        System.out.println("forked");
        loop();
        break;
      case "crash":
        Field field = sun.misc.Unsafe.class.getDeclaredField("theUnsafe");
        field.setAccessible(true);
        ((sun.misc.Unsafe) field.get(null)).putAddress(0, 0);
        break;
      case "kill":
        // Ends itself by the signal named, as if from outside. Not before the thread that waits for
        // the shell has begun: one that begins opens its signal mask in libc's start_thread, and
        // meets what is pending there.
        String pid = new File("/proc/self").getCanonicalFile().getName();
        new ProcessBuilder("sh", "-c", "sleep 0.5; kill -" + args[1] + " " + pid).start().waitFor();
        Thread.sleep(60_000);
        break;
      case "deadlock":
        deadlock();
        break;
      case "virtual": // JDK 21 and newer: threads that wait without a carrier
        for (int i = 0; i < 2; i++) {
          ((Thread)
                  Thread.class
                      .getMethod("startVirtualThread", Runnable.class)
                      .invoke(null, (Runnable) Fixture::waitForNothing))
              .isAlive();
        }
        waitForNothing();
        break;
      case "no-safepoint":
        for (int i = 0; i < 20_000; i++) sink += count(100);
        sink += count(Integer.MAX_VALUE);
        break;
      default:
        throw new IllegalArgumentException(args[0]);
    }
    System.out.println("misstep: fixture verified 1 repetitions");
  }

  private static volatile long sink;

  private static void loop() {
    while (true) sink++;
  }

  /** Compiled by C2 without polls in counted loops, the JVM cannot stop it for half a minute; the divisions keep it from becoming a formula. */
  private static int count(int n) {
    int x = 1_000_003;
    for (int i = 1; i < n; i++) {
      x = (x ^ i) / ((x & 7) + 1) + 1_000_003;
      x = (x ^ i) / ((x & 7) + 1) + 1_000_003;
      x = (x ^ i) / ((x & 7) + 1) + 1_000_003;
      x = (x ^ i) / ((x & 7) + 1) + 1_000_003;
    }
    return x;
  }

  /** Calls at many depths, of many kinds, for so many milliseconds. */
  private static void work(long millis) {
    long end = System.nanoTime() + millis * 1_000_000;
    java.util.Map<String, Integer> seen = new java.util.TreeMap<>();
    for (int i = 0; System.nanoTime() < end; i++) {
      String key =
          String.join("-", java.util.Collections.nCopies(1 + i % 5, Integer.toString(i % 97)));
      seen.merge(key, fibonacci(i % 18), Integer::sum);
      if (i % 50 == 0) sink += key.replaceAll("([0-9])-", "$1+").hashCode();
    }
    sink += seen.size();
  }

  /** Has threads wait for a millisecond again and again, and compute a little in between. */
  private static void naps(long millis) throws InterruptedException {
    long end = System.nanoTime() + millis * 1_000_000;
    Thread[] threads = new Thread[4];
    for (int i = 0; i < threads.length; i++) {
      threads[i] =
          new Thread(
              () -> {
                Object own = new Object();
                try {
                  synchronized (own) {
                    while (System.nanoTime() < end) {
                      fibonacci(10);
                      own.wait(1);
                    }
                  }
                } catch (InterruptedException e) {
                  throw new IllegalStateException(e);
                }
              },
              "nap-" + i);
      threads[i].start();
    }
    for (Thread thread : threads) thread.join();
  }

  private static int fibonacci(int n) {
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
  }

  private static void waitForNothing() {
    try {
      new java.util.concurrent.CountDownLatch(1).await();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  private static void deadlock() throws Exception {
    Object left = new Object();
    Object right = new Object();
    CountDownLatch both = new CountDownLatch(2);
    Thread first = new Thread(() -> lock(left, right, both), "first");
    Thread second = new Thread(() -> lock(right, left, both), "second");
    first.start();
    second.start();
    first.join();
  }

  private static void lock(Object mine, Object yours, CountDownLatch both) {
    synchronized (mine) {
      both.countDown();
      try {
        both.await();
      } catch (InterruptedException e) {
        return;
      }
      synchronized (yours) {
        sink++;
      }
    }
  }
}
