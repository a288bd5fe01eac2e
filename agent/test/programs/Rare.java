import java.io.InputStream;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;

/**
 * Makes the VM call Java code at instructions at which it rarely does: {@code letters}, {@code
 * entry}, {@code allocate}, {@code compare}.
 */
public final class Rare {
  static int marks;

  /** Called by the others, so that there is an entry to check above them. */
  static int mark(int n) {
    marks++;
    return n;
  }

  /** Defines its own copies of the classes below, so that the VM requests each of them from it. */
  static final class Own extends ClassLoader {
    Own() {
      super(Rare.class.getClassLoader());
    }

    @Override
    public Class<?> loadClass(String name) throws ClassNotFoundException {
      mark(1);
      return super.loadClass(name);
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
      if (name.equals("Rare$Own_Nowhere")) {
        throw new ClassNotFoundException(name);
      }
      if (!name.startsWith("Rare$Own_")) {
        return super.loadClass(name, resolve);
      }
      Class<?> known = findLoadedClass(name);
      if (known != null) {
        return known;
      }
      try (InputStream in = Rare.class.getResourceAsStream(name + ".class")) {
        byte[] file = new byte[1 << 16];
        int size = 0;
        for (int n = 0; n >= 0; n = in.read(file, size, file.length - size)) {
          size += n;
        }
        return defineClass(name, file, 0, size);
      } catch (Exception e) {
        throw new ClassNotFoundException(name, e);
      }
    }
  }

  static class Own_Caught extends RuntimeException {
    private static final long serialVersionUID = 1;
  }

  /** The interpreter makes one of the load of a local variable and the load from an array of characters by its second run. */
  public static class Own_Letters implements Runnable {
    static int letter(char[] letters, int a, int b, int c, int index) {
      try {
        return letters[index];
      } catch (Own_Caught e) {
        return 1;
      } catch (ArrayIndexOutOfBoundsException e) {
        return 2;
      }
    }

    @Override
    public void run() {
      char[] letters = {'a'};
      if (letter(letters, 0, 0, 0, 0) != 'a' || letter(letters, 0, 0, 0, 7) != 2) {
        throw new IllegalStateException("a wrong letter");
      }
    }
  }

  /** No loader finds its argument's class: each time that it is to be compiled its own is asked. */
  public static class Own_Entry implements Runnable {
    static int ask(Own_Nowhere nothing, int n) {
      return n + 1;
    }

    @Override
    public void run() {
      int sum = 0;
      for (int i = 0; i < 100_000; i++) {
        sum = ask(null, sum);
      }
      if (sum != 100_000) {
        throw new IllegalStateException("a wrong sum");
      }
    }
  }

  static class Own_Nowhere {}

  static final class First {}

  static final class Second {
    static final int VALUE = mark(7);
  }

  /** Compiled code makes an object of a class that is not initialised yet. */
  static void allocate() throws Throwable {
    MethodType constructor = MethodType.methodType(void.class);
    for (Class<?> of : new Class<?>[] {First.class, First.class, Second.class}) {
      MethodHandle make = MethodHandles.lookup().findConstructor(of, constructor);
      Object made = make.asType(MethodType.methodType(Object.class)).invokeExact();
      if (made.getClass() != of) {
        throw new IllegalStateException("a wrong class");
      }
    }
  }

  static boolean same(Object a, Object b) {
    return a == b;
  }

  /** Boxes are value objects where the preview of 28 is on. */
  static void compare() {
    Object a = Integer.valueOf(1000 * mark(1));
    Object b = Integer.valueOf(1000 * mark(1));
    long end = System.nanoTime() + 1_000_000_000;
    while (System.nanoTime() < end) {
      if (same(a, b) != same(b, a)) {
        throw new IllegalStateException("a wrong comparison");
      }
    }
  }

  static void own(String name) throws ReflectiveOperationException {
    ((Runnable) new Own().loadClass(name).getConstructor().newInstance()).run();
  }

  public static void main(String[] args) throws Throwable {
    switch (args[0]) {
      case "letters":
        for (int i = 0; i < 10; i++) {
          own("Rare$Own_Letters");
        }
        break;
      case "entry":
        own("Rare$Own_Entry");
        break;
      case "allocate":
        allocate();
        break;
      default:
        compare();
    }
    System.out.println("rare: verified " + marks);
  }
}
