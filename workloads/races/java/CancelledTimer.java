/** A timer's task looks whether it was cancelled and then uses what the canceller closes. */
final class CancelledTimer {
  private static boolean cancelled;
  private static boolean closed;
  private static boolean used;

  private CancelledTimer() {}

  public static void main(String[] args) throws Exception {
    Race.periodic(
        args,
        () -> {
          Object lock = new Object();
          cancelled = false;
          closed = false;
          Race.together(
              () -> {
                Race.pause(5);
                synchronized (lock) {
                  if (cancelled) {
                    return;
                  }
                }
                Race.gap(5); // the timer is cancelled 30 ms later
                synchronized (lock) {
                  used |= closed && !(Race.fixed && cancelled);
                }
              },
              () -> {
                Race.pause(40);
                synchronized (lock) {
                  cancelled = true;
                  closed = true;
                }
              });
          return used ? "a cancelled timer used what was closed" : null;
        });
  }
}
