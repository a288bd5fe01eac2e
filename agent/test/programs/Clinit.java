/**
 * JDK-8303444: compiled code triggers a static initializer; what runs in it cannot be walked past the upcall. Run with -Xcomp.
 */
public final class Clinit {
  static final class Lazy {
    static int value = init();

    static int init() {
      return 42;
    }
  }

  static int trigger() {
    return Lazy.value;
  }

  public static void main(String[] args) {
    if (trigger() != 42) {
      System.exit(3);
    }
    System.out.println("clinit: verified");
  }
}
