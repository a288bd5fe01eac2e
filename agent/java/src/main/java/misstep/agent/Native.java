package misstep.agent;

/** What the native half of the agent offers; libmisstep.so exports each method by its JNI name. */
final class Native {
  private Native() {}

  /** The agent's options as {@link Options} reads them, already validated by the native half. */
  static native String options();

  /**
   * Reserves method ids.
   *
   * @param n how many, at least 1
   * @return the first of n consecutive ids that nobody else got
   */
  static native int reserve(int n);

  /**
   * Tells of the instrumented methods of one class, before their code can run. A class whose ids
   * are not consecutive is told of in several calls.
   *
   * @param loader the defining loader, null for the boot loader
   * @param className internal name
   * @param firstId id of the first method; the others follow in order
   * @param nameAndDescriptor "name(descriptor)result" of each
   * @param pushEndBci for each the first bci after the push is complete
   * @param exitStartBcis for each the [start, end) pairs of bcis in which it pops and leaves
   * @param redefined the class, if it was loaded before and now changes its code; else null
   */
  static native void registered(
      ClassLoader loader,
      String className,
      int firstId,
      String[] nameAndDescriptor,
      int[] pushEndBci,
      int[][] exitStartBcis,
      Class<?> redefined);

  /**
   * Tells that this thread begins to instrument a class. Others that it loads until {@link #end} get
   * no instrumentation, which the native half tells of.
   *
   * @param className internal name
   */
  static native void begin(String className);

  /** Tells that this thread instruments no class any more. */
  static native void end();

  /**
   * Counts and logs a class or method that stays as it is although it was chosen.
   *
   * @param className internal name
   * @param why one line
   */
  static native void failed(String className, String why);

  /** Tells that classes loaded from now on are instrumented: checks and sampling may start. */
  static native void ready();
}
