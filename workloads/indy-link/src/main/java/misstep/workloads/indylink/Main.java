package misstep.workloads.indylink;

import java.util.function.IntFunction;
import misstep.workloads.FreshLoader;
import misstep.workloads.Harness;
import misstep.workloads.ValidationException;

/**
 * Links call sites: the VM calls {@code MethodHandleNatives.linkCallSite} on top of the method that
 * contains the site. This happens at the bottom of a recursion, in fresh classes and, once per JVM,
 * in java.util.regex.Pattern.
 */
public final class Main {
  private static final int DEPTH = 20;

  private Main() {}

  /**
   * Runs the workload.
   *
   * @param args how often one repetition links the sites of fresh classes
   */
  public static void main(String[] args) {
    int rounds = Harness.argument(args, 0, 60);
    Harness.run(
        (index, scratch) -> {
          if (index == 0) {
            Patterns.warm();
          }
          ValidationException.equal(
              "patterns that match", Patterns.COUNT, Patterns.matching(DEPTH));
          for (int i = 0; i < rounds; i++) {
            @SuppressWarnings("unchecked")
            IntFunction<String> sites =
                new FreshLoader(Main.class, "fresh").make("Sites", IntFunction.class);
            ValidationException.equal("sites", expected(i), sites.apply(i));
          }
        });
  }

  private static String expected(int number) {
    return String.format(
        "%d|%d|Pair[left=%d, right=x%d]|true|%d|%s|%d",
        number, number + 1, number, number, 10 * number, "x".repeat(number % 5), 3 * number);
  }
}
