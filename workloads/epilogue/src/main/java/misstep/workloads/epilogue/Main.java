package misstep.workloads.epilogue;

import java.util.regex.Matcher;
import java.util.regex.Pattern;
import misstep.workloads.Harness;
import misstep.workloads.ValidationException;

/**
 * Constantly returns from deep recursion. A signal between {@code add rsp,N} and {@code ret} of a
 * compiled method interrupts it when its frame is half removed; the walker may then mistake dead
 * stack for a frame. Regular expressions at the bottom leave many old frames there.
 */
public final class Main {
  private static final Pattern NESTED = Pattern.compile("(?:(a+)(b|c)*?)+d{2}[^x]e?");
  private static final int DEPTH = 40;

  private Main() {}

  /**
   * Runs the workload.
   *
   * @param args rounds of one repetition
   */
  public static void main(String[] args) {
    int rounds = Harness.argument(args, 0, 4000);
    Harness.run(
        (index, scratch) -> {
          long found = 0;
          long calls = 0;
          for (int i = 0; i < rounds; i++) {
            found += narrow(i % DEPTH, i);
            calls += wide(9, i);
          }
          ValidationException.equal("matches", expected(rounds), found);
          // A call tree of depth d has 2^(d+1)-1 nodes.
          ValidationException.equal("calls", rounds * ((1L << 10) - 1), calls);
        });
  }

  private static long expected(int rounds) {
    long sum = 0;
    for (int i = 0; i < rounds; i++) {
      sum += i % 3 == 0 ? 0 : 1;
    }
    return sum;
  }

  /** Recurses through frames of different sizes and matches at the bottom. */
  private static int narrow(int depth, int number) {
    if (depth == 0) {
      return match(number);
    }
    return depth % 2 == 0
        ? small(depth - 1, number)
        : large(depth - 1, number, depth, number + 1L, 0.5, depth * 2L);
  }

  private static int small(int depth, int number) {
    return narrow(depth, number);
  }

  private static int large(int depth, int number, long a, long b, double c, long d) {
    int result = narrow(depth, number);
    // Uses of all arguments after the call, so that they live in the frame.
    return a + b + d + c < 0 ? -1 : result;
  }

  private static int match(int number) {
    StringBuilder text = new StringBuilder();
    for (int i = number % 7; i >= 0; i--) {
      text.append("aab");
    }
    text.append(number % 3 == 0 ? "accdx" : "accddye");
    Matcher m = NESTED.matcher(text);
    return m.matches() ? 1 : 0;
  }

  /** Counts the calls of a binary tree: short methods that return at once. */
  private static long wide(int depth, int number) {
    if (depth == 0) {
      return 1;
    }
    return wide(depth - 1, number + 1) + wide(depth - 1, number - 1) + 1;
  }
}
