package misstep.workloads.stubs;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.zip.CRC32;
import misstep.workloads.ValidationException;

/**
 * Array copies of every element type, also overlapping, and other work for which the VM has stubs.
 */
final class Copies {
  private Copies() {}

  static void run(SplittableRandom random, int size) throws ValidationException {
    long sum = 0;
    byte[] bytes = new byte[size];
    short[] shorts = new short[size];
    int[] ints = new int[size];
    long[] longs = new long[size];
    Object[] objects = new Object[size];
    for (int i = 0; i < size; i++) {
      bytes[i] = (byte) i;
      shorts[i] = (short) i;
      ints[i] = i;
      longs[i] = i;
      objects[i] = i;
    }
    for (int turn = 0; turn < 2000; turn++) {
      int length = 1 + random.nextInt(turn % 4 == 0 ? size / 2 : 24);
      int from = random.nextInt(size - length);
      int to = random.nextInt(size - length);
      check(
          copy(bytes, from, to, length, size)[to + length - 1] == (byte) (from + length - 1),
          "bytes");
      check(
          copy(shorts, from, to, length, size)[to + length - 1] == (short) (from + length - 1),
          "shorts");
      check(copy(ints, from, to, length, size)[to] == from, "ints");
      check(copy(longs, from, to, length, size)[to] == from, "longs");
      // To an array of a narrower type: each element is checked.
      Integer[] narrow = new Integer[size];
      System.arraycopy(objects, from, narrow, to, length);
      check(narrow[to + length - 1] == from + length - 1, "objects");
      refuse(objects, narrow);
      int[] moved = ints.clone();
      System.arraycopy(moved, from, moved, to, length);
      check(moved[to + length / 2] == from + length / 2, "overlap");
      sum += Arrays.mismatch(ints, moved) < 0 ? 0 : 1;
    }
    check(sum > 0, "mismatches");
    text(bytes);
  }

  private static <T> T copy(T array, int from, int to, int length, int size) {
    @SuppressWarnings("unchecked")
    T result = (T) java.lang.reflect.Array.newInstance(array.getClass().getComponentType(), size);
    System.arraycopy(array, from, result, to, length);
    return result;
  }

  /** A copy that fails midway keeps the elements copied before. */
  private static void refuse(Object[] objects, Integer[] narrow) throws ValidationException {
    Object kept = objects[5];
    objects[5] = "text";
    try {
      System.arraycopy(objects, 0, narrow, 0, 10);
      throw new ValidationException("a text was stored into an Integer[]");
    } catch (ArrayStoreException e) {
      check(narrow[4] == 4, "elements before the refused one");
    } finally {
      objects[5] = kept;
    }
  }

  private static void text(byte[] bytes) throws ValidationException {
    for (int i = 0; i < 200; i++) {
      String latin = new String(bytes, i, 256, StandardCharsets.ISO_8859_1);
      byte[] again = latin.getBytes(StandardCharsets.UTF_8);
      check(new String(again, StandardCharsets.UTF_8).equals(latin), "text");
      check(latin.indexOf((char) (i + 128 & 0xff)) >= 0, "character");
      CRC32 crc = new CRC32();
      crc.update("123456789".getBytes(StandardCharsets.US_ASCII));
      // The published check value of CRC-32.
      ValidationException.equal("CRC-32", 0xcbf43926L, crc.getValue());
    }
  }

  private static void check(boolean right, String what) throws ValidationException {
    if (!right) {
      throw new ValidationException("wrong copy: " + what);
    }
  }
}
