package misstep.workloads.javac;

import java.io.IOException;
import java.lang.reflect.Modifier;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.zip.ZipFile;

/**
 * The classes of commons-lang3 in their own loader, with digests of their interface and answers.
 */
final class Library extends ClassLoader {
  private final Map<String, byte[]> classes;
  private final List<Class<?>> types = new ArrayList<>();

  private Library(Map<String, byte[]> classes) {
    super(ClassLoader.getPlatformClassLoader());
    this.classes = classes;
    try {
      for (String name : classes.keySet().stream().sorted().toList()) {
        Class<?> type = loadClass(name);
        // What is not public (bridges of switches, lambdas' helpers) is the compiler's own
        // business.
        if (Modifier.isPublic(type.getModifiers()) && !type.isSynthetic()) {
          types.add(type);
        }
      }
    } catch (ClassNotFoundException e) {
      throw new IllegalStateException(e);
    }
  }

  static Library compiled(Map<String, byte[]> classes) {
    return new Library(classes);
  }

  static Library published(Path file) throws IOException {
    Map<String, byte[]> classes = new HashMap<>();
    try (var jar = new ZipFile(file.toFile())) {
      for (var entry : jar.stream().toList()) {
        String name = entry.getName();
        if (name.endsWith(".class")
            && !name.endsWith("-info.class")
            && !name.startsWith("META-INF/")) {
          classes.put(
              name.substring(0, name.length() - ".class".length()).replace('/', '.'),
              jar.getInputStream(entry).readAllBytes());
        }
      }
    }
    return new Library(classes);
  }

  @Override
  protected Class<?> findClass(String name) throws ClassNotFoundException {
    byte[] bytes = classes.get(name);
    if (bytes == null) {
      throw new ClassNotFoundException(name);
    }
    return defineClass(name, bytes, 0, bytes.length);
  }

  /** The number of its public types. */
  int size() {
    return types.size();
  }

  /** A digest of all public types with their public members, independent of the compiler. */
  String interfaces() {
    List<String> lines = new ArrayList<>();
    for (Class<?> type : types) {
      lines.add(type.toGenericString());
      for (var member : type.getDeclaredMethods()) {
        if (Modifier.isPublic(member.getModifiers()) && !member.isSynthetic()) {
          lines.add(member.toGenericString());
        }
      }
      for (var member : type.getDeclaredConstructors()) {
        if (Modifier.isPublic(member.getModifiers()) && !member.isSynthetic()) {
          lines.add(member.toGenericString());
        }
      }
      for (var member : type.getDeclaredFields()) {
        if (Modifier.isPublic(member.getModifiers()) && !member.isSynthetic()) {
          lines.add(member.toGenericString());
        }
      }
    }
    return digest(lines);
  }

  /** A digest of the results of some of its methods. */
  String answers() {
    List<String> lines = new ArrayList<>();
    try {
      Class<?> strings = loadClass("org.apache.commons.lang3.StringUtils");
      var distance =
          strings.getMethod("getLevenshteinDistance", CharSequence.class, CharSequence.class);
      var jaro =
          strings.getMethod("getJaroWinklerDistance", CharSequence.class, CharSequence.class);
      var swap = strings.getMethod("swapCase", String.class);
      var rotate = strings.getMethod("rotate", String.class, int.class);
      var split = strings.getMethod("splitByCharacterTypeCamelCase", String.class);
      var escape =
          loadClass("org.apache.commons.lang3.StringEscapeUtils")
              .getMethod("escapeJava", String.class);
      var create =
          loadClass("org.apache.commons.lang3.math.NumberUtils")
              .getMethod("createNumber", String.class);
      var fraction =
          loadClass("org.apache.commons.lang3.math.Fraction")
              .getMethod("getFraction", double.class);
      for (int i = 0; i < 200; i++) {
        String a = "stackWalker" + Integer.toString(i * 7919, 36) + "\t\u00e9Frame";
        String b = Integer.toString(i * 104729, 36) + "StackFrame" + i;
        lines.add(
            distance.invoke(null, a, b)
                + " "
                + jaro.invoke(null, a, b)
                + " "
                + swap.invoke(null, a)
                + " "
                + rotate.invoke(null, b, i)
                + " "
                + String.join("|", (String[]) split.invoke(null, b))
                + " "
                + escape.invoke(null, a)
                + " "
                + create.invoke(null, i + ".25")
                + " "
                + fraction.invoke(null, i / 8.0));
      }
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("a method of commons-lang3 is not there or threw", e);
    }
    return digest(lines);
  }

  private static String digest(List<String> lines) {
    try {
      var sha = MessageDigest.getInstance("SHA-256");
      lines.stream()
          .sorted()
          .forEach(line -> sha.update((line + "\n").getBytes(StandardCharsets.UTF_8)));
      return HexFormat.of().formatHex(sha.digest());
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every JDK has SHA-256", e);
    }
  }
}
