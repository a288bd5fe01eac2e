import java.lang.instrument.Instrumentation;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;

/**
 * Threads that run before Misstep's agent instruments anything: one that this class starts as an agent of its own, those of
 * test/early/early.cpp, and main. The frames below their work have no shadow. Their work is in classes that are loaded later.
 */
public final class Early {
  private static final LinkedBlockingQueue<Runnable> JOBS = new LinkedBlockingQueue<>();
  private static Instrumentation instrumentation;
  private static volatile int worked;

  private Early() {}

  /** With the argument "work" the work is done right here, below which the JVM's agent code stands. */
  public static void premain(String argument, Instrumentation i) {
    if ("work".equals(argument)) {
      work("premain");
      return;
    }
    instrumentation = i;
    Thread thread =
        new Thread("early-java") {
          @Override
          public void run() {
            serve(3);
          }
        };
    thread.setDaemon(true);
    thread.start();
  }

  private static void serve(int deeper) {
    if (deeper > 0) {
      serve(deeper - 1);
    }
    try {
      while (true) {
        JOBS.take().run();
      }
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Called by the threads of early.cpp, too. */
  static void work(String thread) {
    EarlyWork.work();
    synchronized (Early.class) {
      worked++;
    }
  }

  static native void release();

  static native void arm(ClassLoader loader, String inPush, String inTransformer);

  /** Runs a job on early-java. */
  static void onEarly(Runnable job) throws InterruptedException {
    CountDownLatch done = new CountDownLatch(1);
    JOBS.add(new EarlyJob(job, done));
    done.await();
  }

  public static void main(String[] args) throws Exception {
    switch (args[0]) {
      case "loads":
        EarlyLoads.run();
        break;
      case "retransformed":
        // early-java and main stand in methods of the version before.
        instrumentation.retransformClasses(Early.class);
        everywhere();
        break;
      case "kept":
        everywhere();
        break;
      default:
        instrumentation.retransformClasses(Early.class);
        onEarly(new EarlyMain(args[0], args[1]));
    }
    System.out.println("early: verified " + worked);
  }

  private static void everywhere() throws InterruptedException {
    work("main");
    onEarly(new EarlyJob.Work());
    release();
  }
}
