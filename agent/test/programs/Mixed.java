import static java.nio.charset.StandardCharsets.US_ASCII;

import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntUnaryOperator;
import java.util.regex.Pattern;
import java.util.stream.IntStream;

/**
 * Does a little of everything that makes a stack interesting, for as many seconds as it is told, longer on a busy machine, and
 * checks its sums.
 */
public final class Mixed {
  static class Base {
    final int value;

    Base(int value) {
      this.value = twice(value);
    }
  }

  static final class Derived extends Base {
    final Base inner;

    Derived(int n) {
      super(n > 0 ? new Derived(n - 1).value : twice(3));
      inner = n > 0 ? new Base(value + n) : null;
    }
  }

  static int twice(int x) {
    return 2 * x & 0xffff;
  }

  static int fib(int n) {
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
  }

  static int ackermann(int m, int n) {
    return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
  }

  static int thrower(int depth) {
    if (depth == 0) {
      throw new IllegalStateException("expected");
    }
    try {
      return thrower(depth - 1) + 1;
    } finally {
      counter++;
    }
  }

  static int catcher(int depth) {
    try {
      return thrower(depth);
    } catch (IllegalStateException e) {
      return e.getStackTrace().length > 0 ? 1 : 0;
    }
  }

  static int counter;

  static int bottomless(int n) {
    return bottomless(n + 1) + 1;
  }

  static int overflow() {
    try {
      return bottomless(0);
    } catch (StackOverflowError e) {
      return twice(4);
    }
  }

  static synchronized int locked(int n) {
    return n == 0 ? 0 : locked(n - 1) + 1;
  }

  static int lambdas(int n) {
    IntUnaryOperator f = x -> x + 1;
    for (int i = 0; i < 10; i++) {
      IntUnaryOperator g = f;
      f = x -> g.applyAsInt(x) + n;
    }
    return f.applyAsInt(n) + IntStream.range(0, 50).map(x -> x * n).filter(x -> (x & 1) == 0).sum();
  }

  static int regex(int n) {
    String text = "the quick brown fox " + n + " jumps over the lazy dog";
    return Pattern.compile("(\\w+)\\s(\\d+)\\s(j.*?s)").matcher(text).find() ? 1 : 0;
  }

  static int collections(int n) {
    Map<String, List<Integer>> map = new HashMap<>();
    for (int i = 0; i < 200; i++) {
      map.computeIfAbsent("k" + i % 17, k -> new ArrayList<>()).add(i * n);
    }
    int sum = 0;
    for (List<Integer> list : map.values()) {
      list.sort((a, b) -> b - a);
      sum += list.get(0);
    }
    return sum;
  }

  static int reflection(int n) throws Exception {
    return (Integer) Mixed.class.getDeclaredMethod("twice", int.class).invoke(null, n);
  }

  static int shortThread(int n) throws Exception {
    int[] box = new int[1];
    Thread t = new Thread(() -> box[0] = fib(n));
    t.start();
    t.join();
    return box[0];
  }

  static long round(int n) throws Exception {
    long sum = fib(20);
    sum += ackermann(2, 40);
    for (int i = 0; i < 50; i++) {
      sum += catcher(i % 30);
      sum += new Derived(i % 10).value;
      sum += lambdas(i);
      sum += regex(i);
    }
    sum += collections(n & 7);
    sum += reflection(n & 0xff);
    sum += locked(100);
    sum += shortThread(12);
    if (n % 8 == 0) {
      sum += overflow();
    }
    return sum;
  }

  /** CPU time of the current thread in nanoseconds (proc_pid_schedstat(5)). */
  static long ownTime() throws IOException {
    byte[] text = new byte[64];
    try (InputStream file = new FileInputStream("/proc/thread-self/schedstat")) {
      return Long.parseLong(new String(text, 0, file.read(text), US_ASCII).split(" ")[0]);
    }
  }

  /** Whether a thread has had its time: on a machine with much other work, that is half of it on a processor, within bounds. */
  static boolean over(long start, long time) throws IOException {
    long taken = System.nanoTime() - start;
    return taken >= time && (taken >= 8 * time || ownTime() >= time / 2);
  }

  public static void main(String[] args) throws Exception {
    long start = System.nanoTime();
    long time = (long) (Double.parseDouble(args[0]) * 1e9);
    int threads = args.length > 1 ? Integer.parseInt(args[1]) : 1;
    List<Thread> all = new ArrayList<>();
    long[] rounds = new long[threads];
    Throwable[] failed = new Throwable[1];
    for (int t = 0; t < threads; t++) {
      int me = t;
      Thread thread =
          new Thread(
              () -> {
                try {
                  long first = round(8);
                  while (!over(start, time) && !Span.enough()) {
                    for (int n = 9; n < 16; n++) {
                      round(n);
                    }
                    if (round(8) != first) {
                      throw new AssertionError("wrong sum");
                    }
                    rounds[me] += 8;
                  }
                } catch (Throwable e) {
                  failed[0] = e;
                }
              },
              "mixed-" + t);
      thread.start();
      all.add(thread);
    }
    long sum = 0;
    for (int t = 0; t < threads; t++) {
      all.get(t).join();
      sum += rounds[t];
    }
    if (failed[0] != null) {
      failed[0].printStackTrace();
      System.exit(3);
    }
    System.out.println("mixed: verified " + sum + " rounds");
  }
}
