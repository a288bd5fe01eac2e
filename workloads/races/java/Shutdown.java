/**
 * A sampler checks that its agent runs and then uses the buffer, which shutdown removes in between.
 */
final class Shutdown {
  private static volatile boolean running;
  private static volatile int[] buffer;
  private static volatile boolean crashed;

  private Shutdown() {}

  public static void main(String[] args) throws Exception {
    Race.iterate(
        args,
        () -> {
          buffer = new int[16];
          running = true;
          crashed = false;
          Race.together(
              () -> {
                for (int i = 0; i < 20; i++) {
                  Race.work(4_000);
                  if (!running) {
                    return;
                  }
                  Race.window();
                  try {
                    buffer[i % 16]++;
                  } catch (NullPointerException e) {
                    crashed = true;
                  }
                }
              },
              () -> {
                Race.work(30_000);
                running = false;
                buffer = null;
              });
          return crashed ? "the sampler used a buffer that was gone" : null;
        });
  }
}
