package misstep.agent;

import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import misstep.agent.instrument.Instrumented;

/**
 * The file of the instrumented methods, one per line in the format of the option {@code only}. It
 * is written as classes are loaded, so that it survives the JVM. Its first line is a comment that
 * names its contents. Narrowing the instrumentation to the methods that a finding needs begins with
 * it.
 *
 * <p>Thread-safe, and without a monitor or Java's own output: it is called while a class is loaded,
 * and both may need another class, which another thread may be loading that waits for the monitor.
 */
final class MethodList {
  /** Name of the file in the agent's folder. */
  static final String NAME = "methods.txt";

  /** The most methods that are listed; those of classes that are loaded later are left out. */
  static final int MOST = 1 << 16;

  private final String path;
  private final AtomicInteger left = new AtomicInteger(MOST);

  /** Creates the file, and loads and links all that writing needs now. */
  MethodList(String path) throws IOException {
    this.path = path;
    new FileOutputStream(path).close();
    write(new StringBuilder("# instrumented methods\n"));
  }

  /** Notes the methods of a class, given by its internal name. */
  void add(String className, List<Instrumented.Method> methods) throws IOException {
    if (left.addAndGet(-methods.size()) < 0) {
      left.set(-1); // and no later one, however small
      return;
    }
    StringBuilder lines = new StringBuilder();
    for (Instrumented.Method m : methods) {
      lines.append(className).append('.').append(m.key).append('\n');
    }
    write(lines);
  }

  private void write(StringBuilder lines) throws IOException {
    int error = Native.append(path, lines.toString().getBytes(StandardCharsets.UTF_8));
    if (error != 0) {
      throw new IOException("cannot append to " + path + ": error " + error);
    }
  }
}
