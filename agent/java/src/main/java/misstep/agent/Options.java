package misstep.agent;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * The instrumentation's part of the agent's option string: {@code key=value} pairs separated by
 * commas, lists inside a value separated by semicolons. Keys of the native half are ignored; it has
 * validated all of them.
 *
 * <ul>
 *   <li>{@code out}: folder for the agent's files, among them that of {@link MethodList}
 *   <li>{@code seed}: unsigned 64 bits, decimal or 0x and hexadecimal; absent means 1
 *   <li>{@code methods}: ratio of methods in [0, 1]; absent means 1, all
 *   <li>{@code include}, {@code exclude}: patterns, see {@link MethodChoice}
 *   <li>{@code leaves}: 0 leaves out methods that loop nowhere and have one call at most; absent
 *       means 1
 *   <li>{@code jfr}: 1 where JFR records in this JVM, see {@link Untouchable#isClassOfJfr}
 *   <li>{@code stacks}: microseconds between the stack traces of {@link StackSampler}; absent means
 *       none
 *   <li>{@code only}: path of a UTF-8 file with one "package/Class.name(descriptor)result" a line;
 *       blank lines and lines that begin with # are ignored
 * </ul>
 */
final class Options {
  private Options() {}

  /**
   * Reads the method choice.
   *
   * @throws IllegalArgumentException naming the key and what was expected
   * @throws IOException if the file of {@code only} cannot be read
   */
  static MethodChoice methodChoice(String options) throws IOException {
    long seed = 1;
    double ratio = 1;
    List<String> include = Collections.emptyList();
    List<String> exclude = Collections.emptyList();
    String only = "";
    boolean leaves = true;
    for (String pair : split(options, ',')) {
      int equals = pair.indexOf('=');
      if (equals < 0) {
        throw new IllegalArgumentException("agent option \"" + pair + "\" is not key=value");
      }
      String value = pair.substring(equals + 1);
      switch (pair.substring(0, equals)) {
        case "seed":
          seed = seed(value);
          break;
        case "methods":
          ratio = ratio(value);
          break;
        case "include":
          include = split(value, ';');
          break;
        case "exclude":
          exclude = split(value, ';');
          break;
        case "leaves":
          leaves = value.equals("1");
          break;
        case "only":
          only = value;
          break;
        default: // the native half's
      }
    }
    if (!only.isEmpty()) {
      return MethodChoice.exactly(methodsIn(Paths.get(only)));
    }
    return MethodChoice.byRatio(ratio, seed, include, exclude, leaves);
  }

  /** The folder for the agent's files, empty when there is none. */
  static String out(String options) {
    return value(options, "out=");
  }

  /** The interval of the {@link StackSampler} in nanoseconds, 0 when it is off. */
  static long stacksNanos(String options) {
    String micros = value(options, "stacks=");
    return micros.isEmpty() ? 0 : Long.parseLong(micros) * 1000;
  }

  /** Whether JFR records in this JVM. */
  static boolean jfr(String options) {
    return value(options, "jfr=").equals("1");
  }

  /** The value behind "key=", empty when there is none. */
  private static String value(String options, String key) {
    for (String pair : split(options, ',')) {
      if (pair.startsWith(key)) {
        return pair.substring(key.length());
      }
    }
    return "";
  }

  private static long seed(String value) {
    try {
      return value.startsWith("0x")
          ? Long.parseUnsignedLong(value.substring(2), 16)
          : Long.parseUnsignedLong(value);
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException(
          "agent option seed=" + value + ": expected an unsigned 64-bit number", e);
    }
  }

  private static double ratio(String value) {
    try {
      double ratio = Double.parseDouble(value);
      if (ratio >= 0 && ratio <= 1) {
        return ratio;
      }
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException(
          "agent option methods=" + value + ": expected a number in [0, 1]", e);
    }
    throw new IllegalArgumentException(
        "agent option methods=" + value + ": expected a number in [0, 1]");
  }

  private static Set<String> methodsIn(Path file) throws IOException {
    Set<String> methods = new HashSet<>();
    for (String line : Files.readAllLines(file, StandardCharsets.UTF_8)) {
      String method = line.trim();
      if (!method.isEmpty() && method.charAt(0) != '#') {
        methods.add(method);
      }
    }
    return methods;
  }

  /** The non-empty parts of text between separators. Not String.split: that loads regex classes. */
  private static List<String> split(String text, char separator) {
    List<String> parts = new ArrayList<>();
    int start = 0;
    while (start <= text.length()) {
      int end = text.indexOf(separator, start);
      if (end < 0) {
        end = text.length();
      }
      if (end > start) {
        parts.add(text.substring(start, end));
      }
      start = end + 1;
    }
    return parts;
  }
}
