import java.io.IOException;
import java.io.InputStream;
import java.util.function.IntSupplier;

/**
 * Compiled code gets to a class that is not loaded yet: it deoptimises, and the VM loads the class in the middle of that. The class
 * loader's Java code runs there for a while.
 */
public final class DeoptUpcall {
  /** What compiled code reaches first. */
  public static final class Late {
    final int value = 7;
  }

  /** Its only reference to Late is resolved by its own loader. */
  public static final class Site implements IntSupplier {
    @Override
    public int getAsInt() {
      return new Late().value;
    }
  }

  static final class Slow extends ClassLoader {
    int spun;

    Slow() {
      super(DeoptUpcall.class.getClassLoader());
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
      if (!name.equals("DeoptUpcall$Late") && !name.equals("DeoptUpcall$Site")) {
        return super.loadClass(name, resolve);
      }
      Class<?> known = findLoadedClass(name);
      if (known != null) {
        return known;
      }
      if (name.endsWith("Late")) {
        spun = spin(5_000);
      }
      try (InputStream in = DeoptUpcall.class.getResourceAsStream(name + ".class")) {
        byte[] bytes = in.readAllBytes();
        return defineClass(name, bytes, 0, bytes.length);
      } catch (IOException e) {
        throw new ClassNotFoundException(name, e);
      }
    }
  }

  static int spin(int times) {
    int sum = 0;
    for (int i = 0; i < times; i++) {
      sum += step(i);
    }
    return sum;
  }

  static int step(int x) {
    for (int i = 0; i < 20_000; i++) {
      x = x * 31 + (x >>> 3);
    }
    return x | 1;
  }

  public static void main(String[] args) throws ReflectiveOperationException {
    Slow loader = new Slow();
    IntSupplier site =
        (IntSupplier) loader.loadClass("DeoptUpcall$Site").getDeclaredConstructor().newInstance();
    if (site.getAsInt() != 7 || loader.spun == 0) {
      System.exit(3);
    }
    System.out.println("deopt upcall: verified");
  }
}
