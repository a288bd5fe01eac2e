package misstep.agent;

import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import misstep.agent.instrument.Instrumenter;

/**
 * Which methods are instrumented: a pure function of the method's name, the seed and the options,
 * so that a run can be repeated, and halved to find the methods that matter.
 *
 * <p>The rule, for whoever computes it elsewhere. All arithmetic is on unsigned 64-bit integers.
 *
 * <pre>
 * key          = UTF-8 bytes of  CLASS "." NAME DESCRIPTOR, e.g. java/util/List.get(I)Ljava/lang/Object;
 * fnv(key)     = h = 0xcbf29ce484222325; for each byte b: h = (h ^ b) * 0x100000001b3
 * splitmix(x)  = z = x + 0x9e3779b97f4a7c15
 *                z = (z ^ (z >>> 30)) * 0xbf58476d1ce4e5b9
 *                z = (z ^ (z >>> 27)) * 0x94d049bb133111eb
 *                z ^ (z >>> 31)
 * value        = splitmix(fnv(key) ^ splitmix(seed))
 * chosen       = value &lt; ratio * 2^64          (the product is exact: a double times a power of two)
 * </pre>
 *
 * FNV-1a and its constants: Fowler, Noll, Vo, draft-eastlake-fnv. SplitMix64's finalizer: Steele,
 * Lea, Flood, "Fast splittable pseudorandom number generators" (OOPSLA 2014).
 *
 * <p>A method with a value below the threshold takes part if one of the include patterns matches
 * (none given: any) and none of the exclude patterns. Patterns match "package.Class.method", with
 * dots and without descriptor; * is any run of characters, also an empty one. A list of exact
 * methods (only) replaces ratio and patterns.
 *
 * <p>Immutable.
 */
final class MethodChoice implements Instrumenter.Choice {
  private static final double TWO_TO_63 = 0x1p63;

  private final boolean all;
  private final long threshold;
  private final long mixedSeed;
  private final List<String> include;
  private final List<String> exclude;
  private final Set<String> only; // null: no such list
  private final boolean leaves;

  /**
   * A choice by ratio and patterns.
   *
   * @param ratio share of methods in [0, 1]
   * @param include patterns, none means all
   * @param exclude patterns, they win
   * @param leaves whether methods that loop nowhere and have one call at most may be among them
   */
  static MethodChoice byRatio(
      double ratio, long seed, List<String> include, List<String> exclude, boolean leaves) {
    return new MethodChoice(ratio, seed, include, exclude, null, leaves);
  }

  /** A choice of exactly the given methods, each "package/Class.name(descriptor)result". */
  static MethodChoice exactly(Set<String> methods) {
    return new MethodChoice(
        0,
        0,
        Collections.<String>emptyList(),
        Collections.<String>emptyList(),
        new HashSet<>(methods),
        true);
  }

  private MethodChoice(
      double ratio,
      long seed,
      List<String> include,
      List<String> exclude,
      Set<String> only,
      boolean leaves) {
    if (!(ratio >= 0 && ratio <= 1)) {
      throw new IllegalArgumentException("ratio of methods " + ratio + " is not in [0, 1]");
    }
    this.all = ratio == 1;
    // The smallest integer not below ratio * 2^64, as unsigned 64 bits (unused when ratio is 1).
    double scaled = Math.ceil(ratio * 0x1p64);
    this.threshold =
        scaled >= TWO_TO_63 ? (long) (scaled - TWO_TO_63) + Long.MIN_VALUE : (long) scaled;
    this.mixedSeed = splitmix(seed);
    this.include = include;
    this.exclude = exclude;
    this.only = only;
    this.leaves = leaves;
  }

  @Override
  public boolean leaves() {
    return leaves;
  }

  /**
   * Returns whether a method is to be instrumented.
   *
   * @param className internal name, with slashes
   */
  @Override
  public boolean chooses(String className, String name, String descriptor) {
    String key = className + '.' + name + descriptor;
    if (only != null) {
      return only.contains(key);
    }
    if (!all && Long.compareUnsigned(splitmix(fnv(key) ^ mixedSeed), threshold) >= 0) {
      return false;
    }
    if (include.isEmpty() && exclude.isEmpty()) {
      return true;
    }
    String dotted = className.replace('/', '.') + '.' + name;
    return (include.isEmpty() || anyMatches(include, dotted)) && !anyMatches(exclude, dotted);
  }

  /** The number that is compared with ratio * 2^64, unsigned. */
  static long value(String key, long seed) {
    return splitmix(fnv(key) ^ splitmix(seed));
  }

  static long fnv(String key) {
    long h = 0xcbf29ce484222325L;
    for (byte b : key.getBytes(StandardCharsets.UTF_8)) {
      h = (h ^ (b & 0xff)) * 0x100000001b3L;
    }
    return h;
  }

  static long splitmix(long x) {
    long z = x + 0x9e3779b97f4a7c15L;
    z = (z ^ (z >>> 30)) * 0xbf58476d1ce4e5b9L;
    z = (z ^ (z >>> 27)) * 0x94d049bb133111ebL;
    return z ^ (z >>> 31);
  }

  private static boolean anyMatches(List<String> patterns, String text) {
    for (int i = 0; i < patterns.size(); i++) {
      if (matches(patterns.get(i), text)) {
        return true;
      }
    }
    return false;
  }

  /** Returns whether text matches pattern, in which * is any run of characters. Linear space. */
  static boolean matches(String pattern, String text) {
    int p = 0;
    int t = 0;
    int star = -1; // where in the pattern the last * was
    int from = 0; // where in the text that * ends for now
    while (t < text.length()) {
      if (p < pattern.length() && pattern.charAt(p) == '*') {
        star = p++;
        from = t;
      } else if (p < pattern.length() && pattern.charAt(p) == text.charAt(t)) {
        p++;
        t++;
      } else if (star >= 0) {
        p = star + 1;
        t = ++from;
      } else {
        return false;
      }
    }
    while (p < pattern.length() && pattern.charAt(p) == '*') {
      p++;
    }
    return p == pattern.length();
  }
}
