/*
 * @test
 * @bug 8303444
 * @summary AsyncGetCallTrace and GetStackTrace give the same frames in a class initialiser
 * @comment generated from finding F0123456789ab of Misstep; stands alone
 * @requires os.family == "linux"
 * @run main/othervm/native -XX:TieredStopAtLevel=1 -Xcomp -agentlib:WalkerTest WalkerTest
 */

/** Class initialisers that compiled code triggers: the VM calls them from a runtime stub. */
public class WalkerTest {
  static class Read {
    static int value;

    static {
      compare();
      value = 1;
    }
  }

  static class Written {
    static int value;

    static {
      compare();
      value = 1;
    }
  }

  static class Made {
    static {
      compare();
    }
  }

  static class Called {
    static {
      compare();
    }

    static void method() {}
  }

  static int read() {
    return Read.value;
  }

  static void write() {
    Written.value = 2;
  }

  static Object make() {
    return new Made();
  }

  static void call() {
    Called.method();
  }

  static void begin() {
    read();
    write();
    make();
    call();
  }

  /** Walks the stack in both ways and notes whether the walks differ. */
  static native void compare();

  /** Lets the library compare at its breakpoint, or not. */
  static native void arm(boolean on);

  static native int compared();

  static native int differing();

  public static void main(String[] args) throws Exception {
    begin();
    if (compared() == 0) {
      throw new Error("nothing was compared: the test proves nothing on this JVM");
    }
    System.out.println(compared() + " comparisons, " + differing() + " differ");
    if (differing() > 0) {
      throw new RuntimeException(
          "GetStackTrace and AsyncGetCallTrace differ in a class initialiser, see above");
    }
  }
}
