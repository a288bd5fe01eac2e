package misstep.workloads;

import java.io.IOException;

/**
 * Defines the classes of one package anew, from the same class files as its parent, so that what happens once to a class
 * (loading, initialisation, linking of call sites, compilation) happens again.
 */
public final class FreshLoader extends ClassLoader {
  private final String prefix;

  /**
   * Makes one.
   *
   * @param neighbour a class of the workload that is not fresh; its loader is asked for all other classes
   * @param fresh the last part of the package below that of neighbour whose classes are defined anew
   */
  public FreshLoader(Class<?> neighbour, String fresh) {
    super(neighbour.getClassLoader());
    this.prefix = neighbour.getPackageName() + "." + fresh + ".";
  }

  /**
   * Makes an object of a fresh class by its constructor without parameters.
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
    try (var in = getParent().getResourceAsStream(name.replace('.', '/') + ".class")) {
      if (in == null) {
        throw new ClassNotFoundException(name);
      }
      byte[] bytes = in.readAllBytes();
      return defineClass(name, bytes, 0, bytes.length);
    } catch (IOException e) {
      throw new ClassNotFoundException(name, e);
    }
  }
}
