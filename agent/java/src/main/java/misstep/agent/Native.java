package misstep.agent;

/** What the native half of the agent offers; libmisstep.so exports each method by its JNI name. */
final class Native {
  private Native() {}

  /**
   * The agent's options as {@link Options} reads them, already validated by the native half; null
   * where that leaves the JVM alone.
   */
  static native String options();

  /**
   * Reserves method ids.
   *
   * @param n how many, at least 1
   * @return the first of n consecutive ids that no other caller gets
   */
  static native int reserve(int n);

  /**
   * Registers the instrumented methods of one class, before their code can run. A class whose ids
   * are not consecutive is registered in several calls.
   *
   * @param loader the defining loader, null for the boot loader
   * @param className internal name
   * @param firstId id of the first method; the others follow in order
   * @param nameAndDescriptor "name(descriptor)result" of each
   * @param pushEndBci for each the first bci after the push is complete
   * @param exitStartBcis for each the [start, end) pairs of bcis in which it pops and leaves
   * @param redefined the class, if it was loaded before and is now redefined; else null
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
   * Marks that this thread begins to instrument a class. Other classes that it loads until {@link
   * #end} are not instrumented, which the native half logs.
   *
   * @param className internal name
   */
  static native void begin(String className);

  /** Marks that this thread no longer instruments a class. */
  static native void end();

  /**
   * Counts and logs a class or method that is not instrumented although it was chosen.
   *
   * @param className internal name
   * @param why one line
   */
  static native void failed(String className, String why);

  /**
   * Appends bytes to a file, by one write.
   *
   * @param path of the file, which exists
   * @return 0, or the error's number (errno)
   */
  static native int append(String path, byte[] bytes);

  /**
   * Makes the calling thread one that no check observes: it has no shadow stack and gets no
   * signals.
   *
   * @param thread the calling one
   */
  static native void leaveAlone(Thread thread);

  /**
   * The CPU time of threads, as exact as the kernel's scheduler counts it: one that is the same at
   * two times has not run in between.
   *
   * @return nanoseconds for each thread, 0 where they are not known, or not exact on this machine
   */
  static native long[] cpuNanos(Thread[] threads);

  /**
   * The frames of a thread by JVMTI's GetStackTrace: for each, innermost first, the class's binary
   * name and the method's.
   *
   * @return null where the JVM does not give them
   */
  static native String[] stack(Thread thread);

  /** Reports that classes loaded from now on are instrumented: checks and sampling may start. */
  static native void ready();
}
