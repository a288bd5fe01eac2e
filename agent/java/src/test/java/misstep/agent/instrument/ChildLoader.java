package misstep.agent.instrument;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Defines instrumented classes, before it asks its parent. */
final class ChildLoader extends ClassLoader {
  /** Classes of the last verifyAll that could not be verified for want of others. */
  int unlinked;

  private final Map<String, byte[]> files = new HashMap<>();

  ChildLoader(ClassLoader parent) {
    super(parent);
  }

  void add(String internalName, byte[] file) {
    files.put(internalName.replace('/', '.'), file);
  }

  @Override
  protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
    synchronized (getClassLoadingLock(name)) {
      byte[] file = files.get(name);
      if (file == null) {
        return super.loadClass(name, resolve);
      }
      Class<?> loaded = findLoadedClass(name);
      return loaded != null ? loaded : defineClass(name, file, 0, file.length);
    }
  }

  /** Has the JVM verify every class, without initializing any; returns what it objects to. */
  List<String> verifyAll() {
    List<String> problems = new ArrayList<>();
    for (String name : files.keySet()) {
      try {
        // Listing methods links, and linking verifies.
        Class.forName(name, false, this).getDeclaredMethods();
      } catch (VerifyError | ClassFormatError e) {
        problems.add(name + ": " + e);
      } catch (LinkageError | ClassNotFoundException e) {
        unlinked++; // an optional part of the library, whose own dependencies are not here
      }
    }
    return problems;
  }
}
