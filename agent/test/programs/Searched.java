/**
 * Searches strings, on top of some frames. C2 has an intrinsic for that, which keeps its operands
 * on the stack. With the argument "string" it searches for a string, with "char" for a character,
 * which needs no stack.
 */
public final class Searched {
  private static final String TEXT =
      "the quick brown fox jumps over the lazy dog, again and again and again, without an end";

  static int search(String what, boolean string) {
    int sum = 0;
    for (int i = 0; i < 100; i++) {
      sum += string ? TEXT.indexOf(what) : TEXT.indexOf(what.charAt(0));
    }
    return sum;
  }

  static int outer(String what, boolean string) {
    return search(what, string) + 1;
  }

  public static void main(String[] args) {
    boolean string = args[0].equals("string");
    String[] words = {"agone", "endless", "foxes and"};
    long sum = 0;
    long n = 0;
    for (Span span = new Span(args, 1, 1.5); !span.over(); n++) {
      sum += outer(string ? words[(int) (n % words.length)] : "!", string);
    }
    if (sum != n * -99) {
      System.exit(3);
    }
    System.out.println("searched: verified");
  }
}
