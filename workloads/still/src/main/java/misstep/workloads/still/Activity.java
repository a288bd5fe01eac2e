package misstep.workloads.still;

import java.util.Arrays;
import java.util.concurrent.locks.LockSupport;
import java.util.regex.Pattern;
import java.util.zip.Deflater;

/** What a thread does while its stack stands. */
enum Activity {
  /** Computes in a loop. */
  SPIN {
    @Override
    void until(long nanos) {
      long x = nanos;
      while (System.nanoTime() < nanos) {
        for (int i = 0; i < 2000; i++) {
          x = x * 31 + (x >>> 7);
        }
      }
      sink = x;
    }
  },
  /** Calls, returns, copies, throws, sorts: all that moves above the stack that stands. */
  MIX {
    @Override
    void until(long nanos) {
      for (int i = 0; System.nanoTime() < nanos; i++) {
        sink +=
            fibonacci(12) + Pattern.compile("(a+)+b" + i % 7).matcher("aaaaab" + i).groupCount();
        Object[] words = new Object[64];
        for (int k = 0; k < words.length; k++) {
          words[k] = "w" + (k * 31 + i) % 1009;
        }
        Arrays.sort(words);
        sink += copied(words) + thrown(i % 9);
      }
    }
  },
  /** Compresses in native code, a long call after the other. */
  NATIVE {
    @Override
    void until(long nanos) {
      byte[] out = new byte[1 << 19];
      while (System.nanoTime() < nanos) {
        Deflater deflater = new Deflater(Deflater.BEST_COMPRESSION);
        deflater.setInput(NOISE);
        deflater.finish();
        sink += deflater.deflate(out);
        deflater.end();
      }
    }
  },
  /** Sleeps. */
  SLEEP {
    @Override
    void until(long nanos) throws InterruptedException {
      Thread.sleep(Math.max(0, nanos - System.nanoTime()) / 1_000_000);
    }
  },
  /** Parks. */
  PARK {
    @Override
    void until(long nanos) {
      for (long left; (left = nanos - System.nanoTime()) > 0; ) {
        LockSupport.parkNanos(left);
      }
    }
  },
  /** Waits for a notification that does not come. */
  WAIT {
    @Override
    void until(long nanos) throws InterruptedException {
      Object nobody = new Object();
      synchronized (nobody) {
        for (long left; (left = nanos - System.nanoTime()) > 1_000_000; ) {
          nobody.wait(left / 1_000_000);
        }
      }
    }
  };

  static volatile long sink;

  private static final byte[] NOISE = new byte[1 << 18];

  static {
    for (int i = 0; i < NOISE.length; i++) {
      NOISE[i] = (byte) (i * 31 + (i >> 3) * i);
    }
  }

  /** Lasts until System.nanoTime() is about so. */
  abstract void until(long nanos) throws InterruptedException;

  private static long fibonacci(int n) {
    return n < 2 ? 1 : fibonacci(n - 1) + fibonacci(n - 2) + 1;
  }

  private static int copied(Object[] words) {
    Object[] copy = new Object[words.length];
    System.arraycopy(words, 0, copy, 0, words.length);
    return copy[words.length - 1].hashCode();
  }

  private static int thrown(int depth) {
    try {
      return throwing(depth);
    } catch (IllegalStateException e) {
      return e.getStackTrace().length;
    }
  }

  private static int throwing(int depth) {
    if (depth == 0) {
      throw new IllegalStateException("on purpose");
    }
    return throwing(depth - 1) + 1;
  }
}
