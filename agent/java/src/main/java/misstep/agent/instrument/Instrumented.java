package misstep.agent.instrument;

import java.util.List;

/** A class as {@link Instrumenter} rewrote it. */
public final class Instrumented {
  /** One instrumented method. */
  public static final class Method {
    /** The method's id on the shadow stack. */
    public final int id;

    /** "name(descriptor)result". */
    public final String key;

    /** The first bci after the push is complete. */
    public final int pushEnd;

    /** [start, end) pairs of bcis in which the method pops and leaves, in order. */
    public final int[] exits;

    Method(int id, String key, int pushEnd, int[] exits) {
      this.id = id;
      this.key = key;
      this.pushEnd = pushEnd;
      this.exits = exits;
    }
  }

  /** The new class file. */
  public final byte[] bytes;

  /** The instrumented methods by growing id; never empty. */
  public final List<Method> methods;

  Instrumented(byte[] bytes, List<Method> methods) {
    this.bytes = bytes;
    this.methods = methods;
  }
}
