/** A flag checked outside the monitor: the notification comes before the wait. */
final class LostNotify {
  private static volatile boolean ready;

  private LostNotify() {}

  public static void main(String[] args) throws Exception {
    Race.iterate(
        args,
        () -> {
          Object monitor = new Object();
          ready = false;
          boolean ended =
              Race.together(
                  () -> {
                    Race.work(10_000);
                    if (!ready) {
                      Race.window();
                      synchronized (monitor) {
                        try {
                          monitor.wait();
                        } catch (InterruptedException e) {
                          throw new IllegalStateException(e);
                        }
                      }
                    }
                  },
                  () -> {
                    Race.work(15_000);
                    ready = true;
                    synchronized (monitor) {
                      monitor.notifyAll();
                    }
                  });
          return ended ? null : "it hangs";
        });
  }
}
