/**
 * Makes strings of characters, on top of some frames. C2 has an intrinsic for the compression of
 * UTF-16 to Latin-1, which keeps the length on the stack. With the argument "compress" it does
 * that, with "sum" it adds up characters, which needs no stack.
 */
public final class Compressed {
  private static final char[] TEXT = new char[2000];

  static int make(int n, boolean compress) {
    int sum = 0;
    for (int i = 0; i < 100; i++) {
      if (compress) {
        sum += new String(TEXT, 0, TEXT.length - n).length();
      } else {
        for (int j = 0; j < TEXT.length - n; j++) {
          sum += TEXT[j] - 'w';
        }
      }
    }
    return sum;
  }

  static int outer(int n, boolean compress) {
    return make(n, compress) + 1;
  }

  public static void main(String[] args) {
    java.util.Arrays.fill(TEXT, 'x');
    boolean compress = args[0].equals("compress");
    long wrong = 0;
    for (Span span = new Span(args, 1, 1.5); !span.over(); ) {
      wrong += outer(7, compress) - 199_301;
    }
    if (wrong != 0) {
      System.exit(3);
    }
    System.out.println("compressed: verified");
  }
}
