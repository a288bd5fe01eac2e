/** A service is stopped while it is being started: stop finds nothing to stop. */
final class StopBeforeStart {
  private static boolean stopped;
  private static boolean running;

  private StopBeforeStart() {}

  public static void main(String[] args) throws Exception {
    Race.periodic(
        args,
        () -> {
          Object lock = new Object();
          stopped = false;
          running = false;
          Race.together(
              () -> {
                Race.pause(2);
                synchronized (lock) {
                  if (stopped) {
                    return;
                  }
                }
                Race.gap(2); // stop comes 16 ms later
                synchronized (lock) {
                  running = !(Race.fixed && stopped);
                }
              },
              () -> {
                Race.pause(20);
                synchronized (lock) {
                  stopped = true;
                  running = false;
                }
              });
          return running ? "the service runs after it was stopped" : null;
        });
  }
}
