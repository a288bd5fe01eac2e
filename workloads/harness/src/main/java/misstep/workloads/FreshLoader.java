package misstep.workloads;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;

/**
 * Defines the classes of one package anew, from the same class files as its parent, so that what
 * happens once per class (loading, initialisation, linking of call sites, compilation) happens
 * again.
 */
public class FreshLoader extends ClassLoader {
  private final String prefix;

  /**
   * Creates a loader.
   *
   * @param neighbour a class of the workload that is not fresh; its loader loads all other classes
   * @param fresh the last part of the package below that of neighbour whose classes are defined
   *     anew
   */
  public FreshLoader(Class<?> neighbour, String fresh) {
    super(neighbour.getClassLoader());
    String name = neighbour.getName();
    this.prefix = name.substring(0, name.lastIndexOf('.') + 1) + fresh + ".";
  }

  /**
   * Creates an object of a fresh class with its constructor without parameters.
   *
   * @param <T> a type that is not fresh
   * @param name of the class without its package
   * @param type that it implements
   * @return the object
   * @throws ReflectiveOperationException when there is no such class or its constructor threw
   */
  public <T> T make(String name, Class<T> type) throws ReflectiveOperationException {
    return type.cast(loadClass(prefix + name).getDeclaredConstructor().newInstance());
  }

  @Override
  protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
    if (!name.startsWith(prefix)) {
      return super.loadClass(name, resolve);
    }
    synchronized (getClassLoadingLock(name)) {
      Class<?> known = findLoadedClass(name);
      return known != null ? known : findClass(name);
    }
  }

  @Override
  protected Class<?> findClass(String name) throws ClassNotFoundException {
    byte[] bytes = bytes(name);
    return defineClass(name, bytes, 0, bytes.length);
  }

  /**
   * Reads the parent's class file.
   *
   * @param name of the class
   * @return its bytes
   * @throws ClassNotFoundException when there is none
   */
  protected final byte[] bytes(String name) throws ClassNotFoundException {
    try (InputStream in = getParent().getResourceAsStream(name.replace('.', '/') + ".class")) {
      if (in == null) {
        throw new ClassNotFoundException(name);
      }
      ByteArrayOutputStream bytes = new ByteArrayOutputStream();
      byte[] buffer = new byte[8192];
      for (int n = in.read(buffer); n >= 0; n = in.read(buffer)) {
        bytes.write(buffer, 0, n);
      }
      return bytes.toByteArray();
    } catch (IOException e) {
      throw new ClassNotFoundException(name, e);
    }
  }
}
