package misstep.workloads.scala3;

import dotty.tools.dotc.Driver;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.Collectors;
import java.util.zip.ZipFile;
import misstep.workloads.Harness;
import misstep.workloads.ValidationException;

/**
 * Compiles a real library and a program with the Scala 3 compiler, then loads the program and
 * checks its answers.
 */
public final class Main {
  private static final long SEED = 7;

  private Main() {}

  /**
   * Runs the workload.
   *
   * @param args number of terms that the compiled program must calculate
   */
  public static void main(String[] args) {
    int terms = Harness.argument(args, 0, 200);
    Path sources = Harness.home(Main.class).resolve("sources");
    Harness.run(
        (index, scratch) -> {
          Path output = Files.createDirectory(scratch.resolve("classes"));
          compile(unpack(sources, scratch), output);
          try (var loader =
              new URLClassLoader(new URL[] {output.toUri().toURL()}, Main.class.getClassLoader())) {
            calculate(
                loader.loadClass("misstep.program.Calculator").getMethod("calculate", String.class),
                terms);
          }
        });
  }

  private static void compile(List<Path> files, Path output) throws ValidationException {
    List<String> arguments =
        new ArrayList<>(List.of("-d", output.toString(), "-nowarn", "-color:never"));
    arguments.add("-classpath");
    // Only the two libraries: the compiled program must not see the compiler itself.
    arguments.add(System.getProperty("java.class.path").transform(Main::libraries));
    files.forEach(file -> arguments.add(file.toString()));
    var reporter = new Driver().process(arguments.toArray(new String[0]));
    if (reporter.hasErrors()) {
      throw new ValidationException("the compiler reports " + reporter.errorCount() + " errors");
    }
  }

  private static String libraries(String classPath) {
    return List.of(classPath.split(java.io.File.pathSeparator)).stream()
        .filter(entry -> entry.contains("scala-library") || entry.contains("scala3-library"))
        .collect(Collectors.joining(java.io.File.pathSeparator));
  }

  private static List<Path> unpack(Path sources, Path scratch) throws IOException {
    List<Path> files = new ArrayList<>();
    files.add(sources.resolve("Calculator.scala"));
    try (var jar = new ZipFile(Harness.only(sources, ".jar").toFile())) {
      for (var entry : jar.stream().toList()) {
        if (entry.getName().endsWith(".scala")) {
          Path file = scratch.resolve("library").resolve(entry.getName()).normalize();
          Files.createDirectories(file.getParent());
          Files.write(file, jar.getInputStream(entry).readAllBytes());
          files.add(file);
        }
      }
    }
    return files;
  }

  private static void calculate(Method program, int terms) throws Exception {
    var random = new SplittableRandom(SEED);
    for (int i = 0; i < terms; i++) {
      var term = Term.random(random, 5);
      try {
        ValidationException.equal(
            term.text(), term.value(), (long) program.invoke(null, term.text()));
      } catch (InvocationTargetException e) {
        throw new ValidationException(term.text() + ": " + e.getCause());
      }
    }
  }

  /** A term and its value, computed here while it is drawn. */
  private record Term(String text, long value) {
    static Term random(SplittableRandom random, int depth) {
      if (depth == 0) {
        int number = random.nextInt(1000);
        return new Term(Integer.toString(number), number);
      }
      Term a = random(random, depth - 1);
      Term b = random(random, depth - 1);
      switch (random.nextInt(5)) {
        case 0:
          return new Term("(" + a.text + " + " + b.text + ")", a.value + b.value);
        case 1:
          return new Term("(" + a.text + " - " + b.text + ")", a.value - b.value);
        case 2:
          return new Term("(" + a.text + ") * (" + b.text + ")", a.value * b.value);
        case 3:
          return new Term(
              "(let x" + depth + " = " + a.text + " in x" + depth + " * x" + depth + " + " + b.text
                  + ")",
              a.value * a.value + b.value);
        default:
          return new Term(
              "(if " + a.text + " < " + b.text + " then " + a.text + " else " + b.text + ")",
              Math.min(a.value, b.value));
      }
    }
  }
}
