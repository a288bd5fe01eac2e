/**
 * New threads that go down far beyond what a shadow has room for before anything returns: virtual ones, whose buffer has 1,008 entries, and a platform thread,
 * whose has 16,384. Neighbours go down at the same time: an entry beyond the end of one's buffer would be another's.
 */
public final class Descent {
  static int down(int depth) {
    return depth == 0 ? 0 : 1 + down(depth - 1);
  }

  static void check(int depth) {
    for (int i = 0; i < 3; i++) {
      if (down(depth) != depth) {
        System.exit(3);
      }
    }
  }

  public static void main(String[] args) throws InterruptedException {
    Thread[] threads = new Thread[64];
    for (int i = 0; i < threads.length; i++) {
      int depth = 900 + 37 * i;
      threads[i] = Thread.startVirtualThread(() -> check(depth));
    }
    Thread deep = new Thread(null, () -> check(40_000), "deep", 64 << 20);
    deep.start();
    deep.join();
    for (Thread t : threads) {
      t.join();
    }
    System.out.println("descent: verified");
  }
}
