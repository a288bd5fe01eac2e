import java.util.Arrays;

/**
 * Sorts arrays on top of some frames. Since 22 the JDK does most of that in a C library outside of
 * HotSpot (libsimdsort).
 */
public final class Sorted {
  static int median(int[] numbers) {
    Arrays.sort(numbers);
    return numbers[numbers.length / 2];
  }

  static int outer(int[] numbers) {
    return median(numbers) + 1;
  }

  public static void main(String[] args) {
    int[] numbers = new int[200_000];
    int x = 1;
    int sum = 0;
    Span span = new Span(args, 0, 3);
    while (!span.over()) {
      for (int i = 0; i < numbers.length; i++) {
        x = x * 1_103_515_245 + 12_345;
        numbers[i] = x;
      }
      sum += outer(numbers);
    }
    for (int i = 1; i < numbers.length; i++) {
      if (numbers[i - 1] > numbers[i]) {
        throw new AssertionError("not sorted");
      }
    }
    System.out.println("sorted: verified " + sum);
  }
}
