import java.util.Random;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/**
 * Hangs by the causes that the first argument names, joined by plus signs, and prints "hung" when it does. The second argument
 * seeds what differs from run to run: idle pools beside the cause, and what threads' names contain. The third is the path of the
 * native library, empty for none.
 */
public final class Hangs {
  static Random random;
  private static int style;

  /** A thread's name as programs make them: a word for what it does, and something that is new in each run. */
  static String name(String word) {
    switch (style) {
      case 0:
        return word + "-" + random.nextInt(10_000);
      case 1:
        return word + "-" + new UUID(random.nextLong(), random.nextLong());
      case 2:
        return word + " " + Long.toHexString(random.nextLong() | 1L << 60);
      case 3:
        return word
            + " 10.0."
            + random.nextInt(256)
            + "."
            + random.nextInt(256)
            + ":"
            + (1024 + random.nextInt(60_000));
      default:
        return word
            + "@"
            + Integer.toHexString(random.nextInt() | 1 << 28)
            + "["
            + random.nextInt(64)
            + "]";
    }
  }

  static Thread start(String word, Task task) {
    Thread t = new Thread(task, name(word));
    t.start();
    return t;
  }

  /** A Runnable that may throw. */
  interface Task extends Runnable {
    void go() throws Exception;

    @Override
    default void run() {
      try {
        go();
      } catch (Exception e) {
        throw new IllegalStateException(e);
      }
    }
  }

  public static void main(String[] args) throws Exception {
    random = new Random(Long.parseLong(args[1]));
    style = random.nextInt(5);
    if (!args[2].isEmpty()) {
      System.load(args[2]);
    }
    idlePools();
    for (String cause : args[0].split("\\+")) {
      if (!Deadlocks.hang(cause) && !Waits.hang(cause) && !Kinds.hang(cause)) {
        throw new IllegalArgumentException(cause);
      }
    }
    Thread.sleep(500);
    System.out.println("hung");
    System.out.flush();
    while (true) {
      Thread.sleep(100_000);
    }
  }

  /** Starts pools that have done their work. */
  private static void idlePools() throws Exception {
    int pools = random.nextInt(4);
    for (int i = 0; i < pools; i++) {
      int size = 1 + random.nextInt(6);
      ExecutorService pool = Executors.newFixedThreadPool(size);
      for (int k = 0; k < size; k++) {
        pool.submit(() -> null).get();
      }
    }
    if (random.nextBoolean()) {
      ScheduledExecutorService timer = Executors.newScheduledThreadPool(1 + random.nextInt(3));
      timer.scheduleAtFixedRate(() -> {}, 0, 1, TimeUnit.HOURS);
    }
    if (random.nextBoolean()) {
      ForkJoinPool.commonPool().submit(() -> null).get();
    }
    int named = random.nextInt(3);
    ExecutorService own = Executors.newCachedThreadPool(r -> new Thread(r, name("idle")));
    for (int i = 0; i < named; i++) {
      own.submit(
          () -> {
            Thread.sleep(50);
            return null;
          });
    }
  }
}
