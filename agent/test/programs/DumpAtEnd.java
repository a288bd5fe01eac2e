/** Many daemon threads with deep stacks, and a main that returns while stack traces of them are taken. */
public final class DumpAtEnd {
  private static int deep(int frames) throws InterruptedException {
    if (frames == 0) {
      Thread.sleep(1_000_000);
    }
    return deep(frames - 1) + 1;
  }

  public static void main(String[] args) throws Exception {
    for (int i = 0; i < 64; i++) {
      Thread thread =
          new Thread(
              () -> {
                try {
                  deep(500);
                } catch (InterruptedException e) {
                  throw new AssertionError(e);
                }
              });
      thread.setDaemon(true);
      thread.start();
    }
    Thread.sleep(500);
  }
}
