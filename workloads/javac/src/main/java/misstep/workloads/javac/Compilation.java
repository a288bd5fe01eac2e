package misstep.workloads.javac;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.StringWriter;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.zip.ZipFile;
import javax.tools.FileObject;
import javax.tools.ForwardingJavaFileManager;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileManager;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;

/** One run of javac from a jar of sources to class files in memory. */
final class Compilation extends ForwardingJavaFileManager<JavaFileManager> {
  private final Map<String, ByteArrayOutputStream> classes = new HashMap<>();

  private Compilation(JavaFileManager standard) {
    super(standard);
  }

  static Library of(Path sources) throws IOException {
    JavaCompiler javac = ToolProvider.getSystemJavaCompiler();
    if (javac == null) {
      throw new IllegalStateException(
          "this JDK has no javac (module jdk.compiler); take one with it");
    }
    try (var files =
        new Compilation(javac.getStandardFileManager(null, null, StandardCharsets.UTF_8))) {
      var messages = new StringWriter();
      // 17 is the oldest JDK of this workload, so the same language and library on each.
      var options = List.of("--release", "17", "-proc:none", "-nowarn", "-Xlint:none", "-g");
      if (!javac.getTask(messages, files, null, options, null, read(sources)).call()) {
        throw new IllegalStateException("javac failed: " + messages);
      }
      Map<String, byte[]> bytes = new HashMap<>();
      files.classes.forEach((name, out) -> bytes.put(name, out.toByteArray()));
      return Library.compiled(bytes);
    }
  }

  private static List<JavaFileObject> read(Path sources) throws IOException {
    List<JavaFileObject> units = new ArrayList<>();
    try (var jar = new ZipFile(sources.toFile())) {
      for (var entry : jar.stream().toList()) {
        String name = entry.getName();
        if (name.endsWith(".java") && !name.endsWith("-info.java")) {
          units.add(
              new Source(
                  name,
                  new String(jar.getInputStream(entry).readAllBytes(), StandardCharsets.UTF_8)));
        }
      }
    }
    return units;
  }

  @Override
  public JavaFileObject getJavaFileForOutput(
      Location location, String className, JavaFileObject.Kind kind, FileObject sibling) {
    return new SimpleJavaFileObject(
        URI.create("memory:///" + className.replace('.', '/') + kind.extension), kind) {
      @Override
      public OutputStream openOutputStream() {
        var out = new ByteArrayOutputStream();
        classes.put(className, out);
        return out;
      }
    };
  }

  private static final class Source extends SimpleJavaFileObject {
    private final String text;

    Source(String name, String text) {
      super(URI.create("memory:///" + name), Kind.SOURCE);
      this.text = text;
    }

    @Override
    public CharSequence getCharContent(boolean ignoreEncodingErrors) {
      return text;
    }
  }
}
