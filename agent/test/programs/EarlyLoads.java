/**
 * Has classes loaded where the agent itself is at work (test/early/early.cpp does it): one in the middle of the instrumentation of
 * another, one in the middle of the first push of a thread.
 */
final class EarlyLoads {
  private EarlyLoads() {}

  /** Its instrumentation loads InTransformer. */
  static final class Trigger {
    static int value() {
      return InTransformer.value();
    }
  }

  static final class InTransformer {
    static int value() {
      return 1;
    }
  }

  static final class InPush {
    static int value() {
      return 2;
    }
  }

  static final class Pushes extends Thread {
    int sum;

    @Override
    public void run() {
      sum = Trigger.value() + InPush.value();
    }
  }

  static void run() throws InterruptedException {
    Pushes thread = new Pushes();
    Early.arm(EarlyLoads.class.getClassLoader(), "EarlyLoads$InPush", "EarlyLoads$InTransformer");
    thread.start();
    thread.join();
    if (thread.sum != 3) {
      System.exit(3);
    }
  }
}
