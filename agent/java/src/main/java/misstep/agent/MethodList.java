package misstep.agent;

import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import misstep.agent.instrument.Instrumented;

/**
 * The file of the instrumented methods, one per line in the format of the option {@code only}. It
 * is written as classes are loaded, so that it survives the JVM. Its first line is a comment that
 * names its contents. Narrowing the instrumentation to the methods that a finding needs begins with
 * it.
 *
 * <p>Thread-safe.
 */
final class MethodList {
  /** Name of the file in the agent's folder. */
  static final String NAME = "methods.txt";

  /** The most methods that are listed; those of classes that are loaded later are left out. */
  static final int MOST = 1 << 16;

  private final FileOutputStream file;
  private int left = MOST;

  /** Creates the file, and loads all classes that writing needs now. */
  MethodList(String path) throws IOException {
    file = new FileOutputStream(path);
    write(new StringBuilder("# instrumented methods\n"));
  }

  /** Notes the methods of a class, given by its internal name. */
  synchronized void add(String className, List<Instrumented.Method> methods) throws IOException {
    if (left < methods.size()) {
      left = 0;
      return;
    }
    left -= methods.size();
    StringBuilder lines = new StringBuilder();
    for (Instrumented.Method m : methods) {
      lines.append(className).append('.').append(m.key).append('\n');
    }
    write(lines);
  }

  private void write(StringBuilder lines) throws IOException {
    file.write(lines.toString().getBytes(StandardCharsets.UTF_8));
  }
}
