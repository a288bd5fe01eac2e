package misstep.agent.instrument;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;

/** Real class files to instrument, by internal name. */
final class ClassFiles {
  private ClassFiles() {}

  /** All classes of a module of the running JDK. */
  static Map<String, byte[]> ofModule(String module) throws IOException {
    return below(FileSystems.getFileSystem(URI.create("jrt:/")).getPath("/modules/" + module));
  }

  /** All classes of the jar on the class path whose file name begins as given. */
  static Map<String, byte[]> ofJar(String prefix) throws IOException {
    for (String entry : System.getProperty("java.class.path").split(":")) {
      Path path = Path.of(entry);
      if (path.getFileName().toString().matches(prefix + "-[0-9].*\\.jar")) {
        try (FileSystem jar = FileSystems.newFileSystem(path)) {
          return below(jar.getPath("/"));
        }
      }
    }
    throw new IllegalStateException("no jar " + prefix + " on the class path");
  }

  /** All classes of a package of the tests themselves. */
  static Map<String, byte[]> ofTests(String prefix) throws IOException {
    Map<String, byte[]> files = below(Path.of("target", "test-classes"));
    files.keySet().removeIf(name -> !name.startsWith(prefix));
    return files;
  }

  private static Map<String, byte[]> below(Path root) throws IOException {
    Map<String, byte[]> files = new TreeMap<>();
    try (Stream<Path> walk = Files.walk(root)) {
      walk.filter(ClassFiles::isClass)
          .forEach(
              path -> {
                String name = root.relativize(path).toString();
                files.put(name.substring(0, name.length() - ".class".length()), read(path));
              });
    }
    return files;
  }

  private static boolean isClass(Path path) {
    String name = path.toString();
    return name.endsWith(".class")
        && !name.endsWith("module-info.class")
        && !name.contains("META-INF");
  }

  private static byte[] read(Path path) {
    try {
      return Files.readAllBytes(path);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
