package misstep.agent.template;

/** Stands for {@code java.lang.Thread} with the field that the patch adds. */
public class ThreadStub {
  /** Address of the thread's shadow buffer; 0: none yet; negative: never. */
  public transient long misstepShadow;

  /** The continuation mounted on a carrier thread (JDK 21 and later), else null. */
  ContinuationStub getContinuation() {
    throw new AssertionError("stand-in");
  }

  /** Stands for {@code Thread.currentThread()}. */
  public static ThreadStub currentThread() {
    throw new AssertionError("stand-in");
  }
}
