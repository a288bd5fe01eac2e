/**
 * New threads that recurse far deeper than a shadow buffer has room for before anything returns:
 * virtual ones, whose buffer has 1,008 entries, and a platform thread, whose buffer has 16,384.
 * Neighbours recurse at the same time: an entry beyond the end of one buffer would be in another.
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
