import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.locks.ReentrantLock;

/** Causes in which threads wait for something that never comes, or never end. */
final class Waits {
  static volatile long sink;

  static boolean hang(String cause) {
    switch (cause) {
      case "notify":
        Hangs.start("consumer", Mailbox::take);
        return true;
      case "future":
        Hangs.start("order", Mailbox::confirm);
        return true;
      case "task":
        Hangs.start("report", Mailbox::report);
        return true;
      case "latch":
        Hangs.start("startup", Gates::awaitStartup);
        return true;
      case "semaphore":
        Hangs.start("upload", Gates::acquirePermit);
        return true;
      case "barrier":
        Hangs.start("stage", Gates::meet);
        return true;
      case "phaser":
        Hangs.start("phase", Gates::advance);
        return true;
      case "exchanger":
        Hangs.start("trader", Gates::trade);
        return true;
      case "synchronous":
        Hangs.start("courier", Queues::deliver);
        return true;
      case "full":
        Hangs.start("producer", Queues::produce);
        return true;
      case "feed":
        Hangs.start("feed", Queues::poll);
        return true;
      case "condition":
        Hangs.start("valve", Gates::open);
        return true;
      case "join":
        Thread sleeper = Hangs.start("sleeper", Waits::nap);
        Hangs.start("waiter", () -> Gates.shutDown(sleeper));
        return true;
      case "park":
        Hangs.start("gate", Gates::pass);
        return true;
      case "backoff":
        Hangs.start("retry", Loops::backOff);
        return true;
      case "stamped":
        Hangs.start("stamp", Gates::stamp);
        return true;
      case "leaked":
        ReentrantLock leaked = new ReentrantLock();
        Hangs.start("gone", leaked::lock);
        pause(100);
        Hangs.start("heir", () -> Gates.inherit(leaked));
        return true;
      case "starved-pool":
        ExecutorService pool = Executors.newFixedThreadPool(2);
        for (int i = 0; i < 2; i++) {
          pool.submit(() -> Loops.stage(pool));
        }
        return true;
      case "fork-join":
        new ForkJoinPool(2).submit(new Loops.Knot());
        return true;
      case "parse":
        Hangs.start("parser", Loops::parse);
        return true;
      case "probe":
        Hangs.start("prober", () -> Loops.probe(new int[7]));
        return true;
      case "held-by-loop":
        Object registry = new Object();
        Hangs.start("refresh", () -> Loops.refresh(registry));
        pause(100);
        Hangs.start("lookup", () -> Loops.lookUp(registry));
        return true;
      case "read":
        Hangs.start("console", () -> Channels.readLine(System.in));
        return true;
      case "child":
        Hangs.start("child", Channels::runChild);
        return true;
      case "stall":
        Hangs.start("device", Native::stall);
        return true;
      case "native-loop":
        Hangs.start("spinner", Native::poll);
        return true;
      case "finalizer":
        Gates.Leaky.make();
        return true;
      case "exit":
        Runtime.getRuntime().addShutdownHook(new Thread(Gates::neverFlush, Hangs.name("hook")));
        Hangs.start("stopper", () -> System.exit(0));
        return true;
      case "virtual-pinned":
        virtual(Gates::pinned);
        return true;
      case "virtual-loop":
        virtual(Loops::spin);
        return true;
      case "virtual-latch":
        virtual(Gates::awaitVirtual);
        return true;
      case "virtual-queue":
        virtual(Queues::pollVirtual);
        return true;
      default:
        return false;
    }
  }

  private static void virtual(Hangs.Task task) {
    try {
      Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, task);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException(e);
    }
  }

  static void nap() throws InterruptedException {
    Thread.sleep(1_000_000);
  }

  static void pause(long millis) {
    try {
      Thread.sleep(millis);
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }
}
