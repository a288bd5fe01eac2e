import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;

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

  /** Defines the two classes anew, so that they are initialised in each iteration. */
  private static final class Fresh extends ClassLoader {
    Fresh() {
      super(ClassCycle.class.getClassLoader());
    }

    @Override
    protected synchronized Class<?> loadClass(String name, boolean resolve)
        throws ClassNotFoundException {
      if (!name.startsWith("ClassCycle$")) {
        return super.loadClass(name, resolve);
      }
      Class<?> found = findLoadedClass(name);
      if (found != null) {
        return found;
      }
      try (InputStream in = getResourceAsStream(name + ".class")) {
        ByteArrayOutputStream code = new ByteArrayOutputStream();
        for (int b = in.read(); b >= 0; b = in.read()) {
          code.write(b);
        }
        return defineClass(name, code.toByteArray(), 0, code.size());
      } catch (IOException e) {
        throw new ClassNotFoundException(name, e);
      }
    }
  }

  public static int next(String other) {
    Race.gap(0.5); // the other thread begins over 10 ms later
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
    Race.periodic(
        args,
        () -> {
          ClassLoader loader = new Fresh();
          boolean ended =
              Race.together(
                  () -> begin(loader, "ClassCycle$Left", 1),
                  () -> begin(loader, "ClassCycle$Right", 12));
          return ended ? null : "it hangs";
        });
  }

  private static void begin(ClassLoader loader, String name, int delay) {
    Thread.currentThread().setContextClassLoader(loader);
    Race.pause(delay);
    initialize(loader, name);
  }
}
