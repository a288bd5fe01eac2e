import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.HashMap;
import java.util.Map;

/** Two classes initialise each other, begun by two threads at the two ends. */
public final class ClassCycle {
  private ClassCycle() {}

  /** One end. */
  static final class Left {
    static final int VALUE = next("ClassCycle$Right");

    private Left() {}
  }

  /** The other end. */
  static final class Right {
    static final int VALUE = next(Race.fixed ? null : "ClassCycle$Left");

    private Right() {}
  }

  /**
   * Defines the two classes anew, so that they are initialised in each iteration. Their files are read
   * once: what reads them is long code, which was compiled for 24 ms at a time.
   */
  private static final class Fresh extends ClassLoader {
    private static final Map<String, byte[]> CODE = new HashMap<>();

    Fresh() {
      super(ClassCycle.class.getClassLoader());
    }

    static void read(String name) throws IOException {
      try (InputStream in = ClassCycle.class.getResourceAsStream(name + ".class")) {
        ByteArrayOutputStream code = new ByteArrayOutputStream();
        for (int b = in.read(); b >= 0; b = in.read()) {
          code.write(b);
        }
        CODE.put(name, code.toByteArray());
      }
    }

    @Override
    protected synchronized Class<?> loadClass(String name, boolean resolve)
        throws ClassNotFoundException {
      byte[] code = CODE.get(name);
      if (code == null) {
        return super.loadClass(name, resolve);
      }
      Class<?> found = findLoadedClass(name);
      return found != null ? found : defineClass(name, code, 0, code.length);
    }
  }

  public static int next(String other) {
    Race.gap(0.5); // the other thread begins over 16 ms later
    if (other != null) {
      initialize(Thread.currentThread().getContextClassLoader(), other);
    }
    return 1;
  }

  private static void initialize(ClassLoader loader, String name) {
    try {
      Class.forName(name, true, loader);
    } catch (ClassNotFoundException e) {
      throw new IllegalStateException(e);
    }
  }

  public static void main(String[] args) throws Exception {
    Fresh.read("ClassCycle$Left");
    Fresh.read("ClassCycle$Right");
    Race.periodic(
        args,
        () -> {
          ClassLoader loader = new Fresh();
          boolean ended =
              Race.together(
                  () -> begin(loader, "ClassCycle$Left", 1),
                  () -> begin(loader, "ClassCycle$Right", 18));
          return ended ? null : "it hangs";
        });
  }

  private static void begin(ClassLoader loader, String name, int delay) {
    Thread.currentThread().setContextClassLoader(loader);
    Race.pause(delay);
    initialize(loader, name);
  }
}
