/*
 * @test
 * @summary AsyncGetCallTrace has all frames of a virtual thread that was resumed
 * @requires os.family == "linux"
 * @run main/othervm/native -agentlib:ThawedStack ThawedStack control
 * @run main/othervm/native -agentlib:ThawedStack ThawedStack
 */

/**
 * Walks the stack of a virtual thread at the bottom of a recursion and fails if frames of it are
 * missing. Argument: "control" (the thread has not been unmounted), else it has just been resumed.
 */
public final class ThawedStack {
  private static final int DEPTH = 40;
  private static int seen;

  /** How many frames of {@link #dive} AsyncGetCallTrace finds in the calling thread's stack. */
  private static native int walk();

  private static void dive(int depth, boolean resumed) {
    if (depth > 1) {
      dive(depth - 1, resumed);
      return;
    }
    if (resumed) {
      Thread.yield();
    }
    seen = walk();
  }

  public static void main(String[] args) throws Exception {
    System.loadLibrary("ThawedStack");
    boolean resumed = args.length == 0;
    Thread.ofVirtual().start(() -> dive(DEPTH, resumed)).join();
    String what = resumed ? "a thread that was resumed" : "a thread that was not unmounted";
    System.out.println(what + ": " + seen + " of " + DEPTH + " frames");
    if (seen != DEPTH) {
      throw new AssertionError((DEPTH - seen) + " frames of the virtual thread are missing");
    }
  }
}
