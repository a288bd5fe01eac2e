package misstep.workloads.indylink.fresh;

import java.util.function.Function;
import java.util.function.IntFunction;
import java.util.function.IntSupplier;
import java.util.function.IntUnaryOperator;
import java.util.stream.IntStream;

/**
 * Has call sites of each kind that javac makes for Java 17: lambdas, method references,
 * concatenation, records.
 */
public final class Sites implements IntFunction<String> {
  private static final int DEPTH = 20;

  private record Pair(int left, String right) {}

  @Override
  public String apply(int number) {
    return down(DEPTH, number);
  }

  private static String down(int depth, int number) {
    return depth == 0 ? link(number) : down(depth - 1, number);
  }

  private static String link(int number) {
    IntSupplier capturing = () -> number;
    IntUnaryOperator free = i -> i + 1;
    Function<Integer, Object> bound = new Sites()::pair;
    IntUnaryOperator reference = Sites::ten;
    Function<Integer, String> nested =
        i -> IntStream.range(0, i).mapToObj(j -> "x").reduce("", (a, b) -> a + b);
    var pair = new Pair(number, "x" + number);
    boolean same =
        pair.equals(bound.apply(number))
            && pair.hashCode() == new Pair(number, "x" + number).hashCode();
    IntFunction<int[]> array = int[]::new;
    return capturing.getAsInt()
        + "|"
        + free.applyAsInt(number)
        + "|"
        + pair
        + "|"
        + same
        + "|"
        + reference.applyAsInt(number)
        + "|"
        + nested.apply(number % 5)
        + "|"
        + 3 * array.apply(number).length;
  }

  private Object pair(int number) {
    return new Pair(number, "x" + number);
  }

  private static int ten(int number) {
    return 10 * number;
  }
}
