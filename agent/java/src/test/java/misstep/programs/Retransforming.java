package misstep.programs;

import java.lang.instrument.Instrumentation;
import java.util.BitSet;
import misstep.fixtures.Exceptions;

/** Has classes retransformed, as any other agent might, between two runs and while they run. */
public final class Retransforming {
  private static Instrumentation instrumentation;

  private Retransforming() {}

  /** Called by the JVM: this is also an agent. */
  public static void premain(String unused, Instrumentation given) {
    instrumentation = given;
  }

  /** Prints whether the program did the same both times, and whether methods still push. */
  public static void main(String[] args) throws Exception {
    Depth depth = new Depth();
    long before = depth.get();
    String first = Exceptions.run();
    BitSet bits = new BitSet();
    bits.set(7);
    instrumentation.retransformClasses(Exceptions.class, BitSet.class, Retransforming.class);
    String second = Exceptions.run() + bits.nextSetBit(0);
    boolean same = second.equals(first + 7) && before == depth.get();
    System.out.println("same " + same + ", pushes " + (deeper(depth) > before));
  }

  private static long deeper(Depth depth) throws ReflectiveOperationException {
    return depth.get();
  }
}
