import java.util.ArrayList;
import java.util.List;

/** Starts and ends threads all the time; ends while daemon threads are busy, by returning from main or by exit. */
public final class Churn {
  static int fib(int n) {
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
  }

  public static void main(String[] args) throws Exception {
    Span span = new Span(args, 0, 1);
    long count = 0;
    while (!span.over()) {
      List<Thread> threads = new ArrayList<>();
      for (int i = 0; i < 16; i++) {
        Thread thread = new Thread(() -> fib(15));
        thread.start();
        threads.add(thread);
      }
      for (Thread thread : threads) {
        thread.join();
      }
      count += threads.size();
    }
    for (int i = 0; i < 4; i++) {
      Thread thread =
          new Thread(
              () -> {
                while (true) {
                  fib(15);
                }
              });
      thread.setDaemon(true);
      thread.start();
    }
    System.out.println("churn: verified " + count + " threads");
    if (args[1].equals("exit")) {
      System.exit(0);
    }
    if (args[1].equals("halt")) {
      Runtime.getRuntime().halt(0);
    }
  }
}
