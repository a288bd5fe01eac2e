import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Runs for some milliseconds in recursion, lambdas and sorting, on the main thread, on another one, and on a virtual one where the
 * JDK has them.
 */
public class Recorded {
  static volatile long sink;

  public static void main(String[] args) throws Exception {
    long until = System.nanoTime() + Long.parseLong(args[0]) * 1_000_000;
    List<Thread> threads = new ArrayList<>();
    threads.add(new Thread(() -> work(until), "plain"));
    threads.add(virtual(() -> work(until)));
    for (Thread t : threads) {
      t.start();
    }
    work(until);
    for (Thread t : threads) {
      t.join();
    }
  }

  static Thread virtual(Runnable task) throws Exception {
    try {
      Object builder = Thread.class.getMethod("ofVirtual").invoke(null);
      return (Thread)
          Class.forName("java.lang.Thread$Builder")
              .getMethod("unstarted", Runnable.class)
              .invoke(builder, task);
    } catch (NoSuchMethodException e) {
      return new Thread(task, "as if virtual");
    }
  }

  static void work(long until) {
    while (System.nanoTime() < until) {
      sink += deep(System.nanoTime() % 90 + 10);
      Object[] words = new Object[2000];
      for (int i = 0; i < words.length; i++) {
        words[i] = "w" + (i * 31) % 1009;
      }
      Arrays.sort(words, (a, b) -> a.toString().compareTo(b.toString()));
      sink += words[0].hashCode();
    }
  }

  static long deep(long n) {
    return n == 0 ? spin() : 1 + deep(n - 1);
  }

  static long spin() {
    long x = System.nanoTime();
    for (int i = 0; i < 20_000; i++) {
      x = x * 31 + (x >>> 7);
    }
    return x;
  }
}
