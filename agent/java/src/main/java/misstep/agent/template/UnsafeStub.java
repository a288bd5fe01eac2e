package misstep.agent.template;

/** Stands for {@code jdk.internal.misc.Unsafe} (9 and later) or {@code sun.misc.Unsafe} (8). */
public final class UnsafeStub {
  private UnsafeStub() {}

  /** Stands for {@code getUnsafe()}. */
  public static UnsafeStub getUnsafe() {
    throw new AssertionError("stand-in");
  }

  /** Stands for {@code getLong}; a null object makes the offset an address. */
  public long getLong(Object o, long offset) {
    throw new AssertionError("stand-in");
  }

  /** Stands for {@code putLong}; a null object makes the offset an address. */
  public void putLong(Object o, long offset, long value) {
    throw new AssertionError("stand-in");
  }
}
