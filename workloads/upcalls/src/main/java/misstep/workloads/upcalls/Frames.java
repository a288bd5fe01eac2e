package misstep.workloads.upcalls;

import java.util.Random;

/**
 * Frames of unusual shape: fused bytecodes of the interpreter, allocation within arguments, wide
 * locals, locks and clones.
 */
final class Frames implements Part {
  private static final int LENGTH = 4096;
  private static final int TIMES = 30;
  private static final int DEPTH = 300;
  static final long COUNT = TIMES * 5L;

  private int number = 3;
  private float real = 2;
  private Object other = this;

  @Override
  public long run(long seed) {
    Random random = new Random(seed);
    byte[] bytes = new byte[LENGTH];
    random.nextBytes(bytes);
    char[] chars = new char[LENGTH];
    long expected = 0;
    for (int i = 0; i < LENGTH; i++) {
      chars[i] = (char) (bytes[LENGTH - 1 - i] & 0x7f);
      expected += bytes[i] + 2L * (bytes[i] & 0x7f);
    }
    long count = 0;
    for (int i = 0; i < TIMES; i++) {
      count += sum(bytes, chars) == expected ? 1 : 0;
      count +=
          new Chain(new Chain(new Chain(i, new long[i]), 2L, new long[3]), 5L).sum == 2L * i + 10
              ? 1
              : 0;
      count += deep(DEPTH, 1L, 0.5, 2L, 3.5) == DEPTH * 7.0 ? 1 : 0;
      count += clones(i + 1) == 4L * (i + 1) ? 1 : 0;
      count += locked(i) == 2 * i + 5 ? 1 : 0;
    }
    return count;
  }

  private static long sum(byte[] bytes, char[] chars) {
    long sum = 0;
    for (int i = 0; i < bytes.length; i++) {
      sum += bytes[i];
      int c = chars[i];
      sum += c + chars[i];
    }
    return sum;
  }

  private static final class Chain {
    final long sum;

    Chain(long a, long[] b) {
      this(a + b.length);
    }

    Chain(Chain a, long b, long[] c) {
      this(a, b + c.length);
    }

    Chain(Chain a, long b) {
      this(a.sum + b);
    }

    private Chain(long sum) {
      this.sum = sum;
    }
  }

  private static double deep(int depth, long a, double b, long c, double d) {
    if (depth == 0) {
      return 0;
    }
    long e = a + c;
    double f = b + d;
    return deep(depth - 1, a, b, c, d) + e + f;
  }

  private static long clones(int n) {
    long[] longs = new long[n].clone();
    Object[] objects = new String[n].clone();
    int[][] rows = new int[n][2].clone();
    char[] chars = new char[n].clone();
    return longs.length + objects.length + rows.length + chars.length;
  }

  private int locked(int i) {
    try {
      fails(i);
      return -1;
    } catch (IllegalStateException e) {
      return Thread.holdsLock(this) ? -2 : Integer.parseInt(e.getMessage()) + accesses();
    }
  }

  private synchronized void fails(int i) {
    synchronized (new Object()) {
      failsBelow(i);
    }
  }

  private synchronized void failsBelow(int i) {
    throw new IllegalStateException(Integer.toString(2 * i));
  }

  private int accesses() {
    return other == null ? 0 : number + (int) real;
  }
}
