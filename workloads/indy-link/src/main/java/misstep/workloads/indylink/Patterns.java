package misstep.workloads.indylink;

import java.util.regex.Pattern;

/** Regular expressions whose parts make java.util.regex link its lambdas one after another. */
final class Patterns {
  /** A pattern, its flags, and a string that it matches. */
  private record Example(String pattern, int flags, String text) {}

  private static final Example[] EXAMPLES = {
    new Example("a.c", 0, "abc"), // Pattern.DOT
    new Example("a.c", Pattern.UNIX_LINES, "abc"), // UNIXDOT
    new Example("a.c", Pattern.DOTALL, "a\nc"), // ALL
    new Example("[a-z]+", 0, "abc"), // Range
    new Example("[a-z]+", Pattern.CASE_INSENSITIVE, "aBc"), // CIRange
    new Example(
        "[\u00e0-\u00ff]+",
        Pattern.CASE_INSENSITIVE | Pattern.UNICODE_CASE,
        "\u00e9\u00c9"), // CIRangeU
    new Example(
        "[\ud83d\ude00-\ud83d\ude4f]", 0, "\ud83d\ude01"), // Range of supplementary characters
    new Example("[^a]b", 0, "cb"), // negate
    new Example("[a-c&&[^b]]+", 0, "acca"), // and
    new Example("[a[b-d]]+", 0, "abcd"), // union
    new Example("\\d\\D\\s\\S\\w\\W", 0, "1a b_-"), // ASCII_DIGIT and others
    new Example("\\h\\v\\R", 0, "\t\u000b\r\n"), // HorizWS, VertWS
    new Example("\\p{Lower}\\p{Upper}\\p{Punct}", 0, "aB!"), // CharPredicates by name
    new Example(
        "\\p{IsGreek}\\p{InCyrillic}\\p{Lu}", 0, "\u03b1\u0416A"), // script, block, category
    new Example("\\p{javaLowerCase}\\P{javaDigit}", 0, "ax"), // forProperty
    new Example("\\w\\d\\b", Pattern.UNICODE_CHARACTER_CLASS, "\u00e95"), // the Unicode ones
    new Example("\\X", 0, "e\u0301"),
    new Example("k", Pattern.CASE_INSENSITIVE, "K"), // SingleI
    new Example("\u03c3", Pattern.CASE_INSENSITIVE | Pattern.UNICODE_CASE, "\u03a3"), // SingleU
    new Example("(?<=a)b|ab(?!c)", 0, "ab"),
    new Example("(?<first>a|b)\\k<first>", 0, "bb"),
  };

  /** The number of examples. */
  static final int COUNT = EXAMPLES.length;

  private static final int WARM = 3000;

  private Patterns() {}

  /** Gets the parser of patterns compiled before it links its first lambda. */
  static void warm() {
    int matching = 0;
    for (int i = 0; i < WARM; i++) {
      matching +=
          Pattern.compile("(ab|cd)*e{2,3}f?+(?:gh)\\Q.\\E").matcher("abcdeegh.").matches() ? 1 : 0;
    }
    if (matching != WARM) {
      throw new IllegalStateException("warm-up matched " + matching + " of " + WARM);
    }
  }

  /** Compiles and matches all examples at the bottom of a recursion and counts those that match. */
  static int matching(int depth) {
    if (depth > 0) {
      return matching(depth - 1);
    }
    int count = 0;
    for (Example e : EXAMPLES) {
      if (Pattern.compile(e.pattern, e.flags).matcher(e.text).find()) {
        count++;
      }
    }
    return count;
  }
}
