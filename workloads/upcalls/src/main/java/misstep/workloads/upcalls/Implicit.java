package misstep.workloads.upcalls;

/** Implicit exceptions: null, bounds, zero, casts, stores, sizes, and stack overflows. */
final class Implicit implements Part {
  private static final int TIMES = 150;
  private static final int KINDS = 10;
  static final long COUNT = TIMES * KINDS + 2;

  private static final long[] FIVE = new long[5];

  private int field;

  @Override
  public long run(long seed) throws InterruptedException {
    long count = 0;
    for (int i = 0; i < TIMES * KINDS; i++) {
      count += one((int) Math.floorMod(seed + i, (long) KINDS), i);
    }
    return count + overflow();
  }

  private static int one(int kind, int i) {
    try {
      raise(kind, i, i < 0 ? new Implicit() : null);
      return 0;
    } catch (NullPointerException e) {
      String message = e.getMessage();
      return kind <= 1 && (message == null || !message.isEmpty()) ? 1 : 0;
    } catch (ArrayIndexOutOfBoundsException e) {
      return kind == 2 || kind == 9 ? 1 : 0;
    } catch (NegativeArraySizeException e) {
      return kind == 3 ? 1 : 0;
    } catch (ArithmeticException e) {
      return kind == 4 ? 1 : 0;
    } catch (ClassCastException e) {
      return kind == 5 ? 1 : 0;
    } catch (ArrayStoreException e) {
      return kind == 6 || kind == 7 ? 1 : 0;
    } catch (OutOfMemoryError e) {
      return kind == 8 ? 1 : 0;
    }
  }

  private static long raise(int kind, int i, Implicit nothing) {
    switch (kind) {
      case 0:
        return nothing.field;
      case 1:
        return nothing.virtual(i);
      case 2:
        return FIVE[i % 3 + 5];
      case 3:
        return new long[-1 - i].length;
      case 4:
        return i % 2 == 0 ? i / (i - i) : (long) i % (i - i);
      case 5:
        return ((Integer) boxed(i)).longValue();
      case 6:
        return store(new String[2], boxed(i));
      case 7:
        System.arraycopy(new Object[] {"text", boxed(i)}, 0, new String[2], 0, 2);
        return 0;
      case 8:
        // Beyond the limit of an array's size, so no memory is allocated. Rare, since it is
        // expensive for agents.
        if (i < KINDS * 2) {
          return new long[Integer.MAX_VALUE].length;
        }
        throw new OutOfMemoryError("as planned");
      default:
        System.arraycopy(new int[2], 0, new int[1], i % 2, 2);
        return 0;
    }
  }

  private long virtual(int i) {
    return field + i;
  }

  private static Object boxed(int i) {
    return i % 2 == 0 ? (Object) Long.valueOf(i) : (Object) Double.valueOf(i);
  }

  private static int store(Object[] array, Object value) {
    array[1] = value;
    return array.length;
  }

  private static int overflow() throws InterruptedException {
    int[] caught = new int[1];
    Thread thread =
        new Thread(
            null,
            () -> {
              for (int i = 0; i < 2; i++) {
                try {
                  deeper(1, 1.5, 2L);
                } catch (StackOverflowError e) {
                  caught[0]++;
                }
              }
            },
            "overflow",
            256 << 10);
    thread.start();
    thread.join();
    return caught[0];
  }

  private static double deeper(long a, double b, long c) {
    return deeper(a + 1, b * 0.5, c ^ a) + a;
  }
}
