package misstep.workloads.epochs;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.lang.instrument.ClassDefinition;
import java.lang.instrument.Instrumentation;
import java.lang.instrument.UnmodifiableClassException;
import java.nio.charset.StandardCharsets;

/** Redefines classes by another version of themselves. */
public final class Redefiner {
  private static volatile Instrumentation instrumentation;

  private Redefiner() {}

  /**
   * Is called by the launcher before main.
   *
   * @param argument none
   * @param given by the JVM
   */
  public static void agentmain(String argument, Instrumentation given) {
    instrumentation = given;
  }

  /** Redefines a class so that all methods with the constant {@code version 0} are others. */
  static void redefine(Class<?> type) {
    Instrumentation available = instrumentation;
    if (available == null) {
      return;
    }
    try {
      ClassDefinition other = new ClassDefinition(type, otherVersion(bytes(type)));
      available.redefineClasses(other);
    } catch (ClassNotFoundException | UnmodifiableClassException | IOException e) {
      throw new IllegalStateException(e);
    }
  }

  private static byte[] otherVersion(byte[] bytes) {
    byte[] version = "version 0".getBytes(StandardCharsets.US_ASCII);
    for (int at = 0; at + version.length <= bytes.length; at++) {
      int matching = 0;
      while (matching < version.length && bytes[at + matching] == version[matching]) {
        matching++;
      }
      if (matching == version.length) {
        bytes[at + matching - 1] = '1';
        return bytes;
      }
    }
    throw new IllegalStateException("the class has no constant \"version 0\"");
  }

  private static byte[] bytes(Class<?> type) throws IOException {
    String name = "/" + type.getName().replace('.', '/') + ".class";
    try (InputStream in = Redefiner.class.getResourceAsStream(name)) {
      ByteArrayOutputStream bytes = new ByteArrayOutputStream();
      byte[] buffer = new byte[8192];
      for (int n = in.read(buffer); n >= 0; n = in.read(buffer)) {
        bytes.write(buffer, 0, n);
      }
      return bytes.toByteArray();
    }
  }
}
