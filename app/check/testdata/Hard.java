import java.util.Arrays;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import sun.misc.Signal;

/**
 * Works for some milliseconds in little memory, handles signals, and prints its own arguments:
 * MILLIS, then what it likes.
 */
public class Hard {
  static long fib(int n) {
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
  }

  public static void main(String[] args) throws Exception {
    if (System.getSecurityManager() == null) { // else it may not
      CountDownLatch seen = new CountDownLatch(2);
      for (String name : new String[] {"PROF", "USR2"}) {
        try {
          Signal.handle(new Signal(name), s -> seen.countDown());
          Signal.raise(new Signal(name));
        } catch (IllegalArgumentException e) {
          seen.countDown(); // the JVM uses it itself
        }
      }
      seen.await();
      System.out.println("signals came");
    }
    long end = System.nanoTime() + Long.parseLong(args[0]) * 1000000;
    long sum = 0;
    while (System.nanoTime() < end) {
      TreeMap<String, byte[]> map = new TreeMap<>();
      for (int i = 0; i < 100; i++) {
        map.put("key" + i, new byte[1000]);
      }
      sum += map.toString().length() + fib(18);
    }
    System.out.println(sum > 0 ? Arrays.toString(args) : "nothing");
  }
}
