package misstep.agent;

/**
 * Classes that are never instrumented, or not where JFR records, each with its reason. Classes
 * loaded before the agent and hidden classes need no entry: the JVM never shows them to a
 * transformer.
 *
 * <p>The reasons about virtual threads are those of JDK 21 and later; AgentIT tests them by a
 * program with virtual threads whose shadow stacks must stay balanced.
 */
final class Untouchable {
  /** Exact names, and prefixes when they end in a star. */
  private static final String[] NAMES = {
    // The agent and its runtime: they would call themselves.
    "java/lang/MisstepShadow",
    "misstep/agent/*",
    // Used by the runtime: enter and exit call or read them.
    "java/lang/Thread",
    "jdk/internal/misc/Unsafe",
    "sun/misc/Unsafe",
    // Thread.currentThread() changes in the middle of their methods (mount, unmount, yield,
    // switchToCarrierThread): enter would push to one thread's shadow and exit pop from another's.
    "java/lang/VirtualThread",
    "java/lang/VirtualThread$*",
    "java/lang/BaseVirtualThread",
    "java/lang/ThreadBuilders$BoundVirtualThread",
    // They run on both sides of those switches: Continuation.run begins on the carrier's shadow and
    // ends on it, but its enter and yield paths run with the virtual thread as the current one.
    "jdk/internal/vm/Continuation",
    "jdk/internal/vm/Continuation$*",
    "jdk/internal/vm/ContinuationScope",
    "jdk/internal/vm/ContinuationSupport",
    "jdk/internal/vm/StackChunk",
    // Made at run time with names of their own; the VM treats their code specially (no
    // verification for the accessors, frames hidden from stack traces for the forms).
    "jdk/internal/reflect/Generated*",
    "sun/reflect/Generated*",
    "java/lang/invoke/LambdaForm$*",
    "java/lang/invoke/BoundMethodHandle$Species_*",
    "java/lang/invoke/DirectMethodHandle$Holder",
    "java/lang/invoke/DelegatingMethodHandle$Holder",
    "java/lang/invoke/Invokers$Holder",
    // The JDK's events: JFR writes the code of commit and its like anew when it starts, and the
    // pushes are gone (HotSpot jfrEventClassTransformer.cpp). A program's events inherit these.
    "jdk/jfr/events/*",
    "jdk/internal/event/*",
    // Closing a shared arena looks for frames of @Scoped methods among the top few of every thread
    // (HotSpot scopedMemoryAccess.cpp): their shape is part of a protocol.
    "jdk/internal/misc/ScopedMemoryAccess",
    "jdk/internal/misc/ScopedMemoryAccess$*",
    // Since 22 it throws an exception into what these methods call, which they catch: it may come
    // between a push and the handler that pops.
    "jdk/internal/foreign/MemorySessionImpl",
    "jdk/internal/foreign/ConfinedSession",
    "jdk/internal/foreign/SharedSession",
    "jdk/internal/foreign/GlobalSession",
    "jdk/internal/foreign/ImplicitSession",
  };

  /**
   * The JDK's classes that JFR itself instruments as it starts, up to JDK 22. Its transformer comes
   * after the agent's: a method that reads or writes calls JFR's code before the push and after the
   * pop, a constructor of these exceptions after the pop. Whatever is called there has its caller
   * on the stack but not on the shadow. (JDK 8, 11, 17, 21, package jdk.jfr.internal.instrument:
   * JDKEvents.addInstrumentation, ConstructorWriter, the classes with a JIInstrumentationTarget.
   * Gone with JDK-8308995 and JDK-8319374 in 22 and JDK-8331876 in 23: the JDK's classes call
   * events by themselves since.)
   *
   * <p>JFR's starting shows also those of them to the agent that were loaded before it.
   */
  private static final String[] OF_JFR = {
    "java/io/FileInputStream",
    "java/io/FileOutputStream",
    "java/io/RandomAccessFile",
    "sun/nio/ch/FileChannelImpl",
    "sun/nio/ch/SocketChannelImpl",
    "java/net/SocketInputStream", // 8 and 11
    "java/net/SocketOutputStream",
    "java/net/Socket$SocketInputStream", // 17 and 21
    "java/net/Socket$SocketOutputStream",
    "java/lang/Throwable",
    "java/lang/Error",
  };

  /**
   * Annotations of single methods that are left alone, in classes of the boot loader, whose
   * annotations of this kind the JVM obeys.
   */
  private static final String[] ANNOTATIONS = {
    // The current thread is another one at the end than at the start (21+, jdk.internal.vm).
    "Ljdk/internal/vm/annotation/ChangesCurrentThread;",
    // JVMTI hides these frames and those above them while a virtual thread mounts.
    "Ljdk/internal/vm/annotation/JvmtiMountTransition;",
    "Ljdk/internal/vm/annotation/JvmtiHideEvents;",
    "Ljdk/internal/misc/ScopedMemoryAccess$Scoped;",
    // Compiled as part of a method handle's form; not frames of the program.
    "Ljava/lang/invoke/LambdaForm$Compiled;",
  };

  private Untouchable() {}

  /** Tells whether the class of this internal name is never instrumented. */
  static boolean isClass(String name) {
    for (String entry : NAMES) {
      int last = entry.length() - 1;
      if (entry.charAt(last) == '*' ? name.regionMatches(0, entry, 0, last) : name.equals(entry)) {
        return true;
      }
    }
    return false;
  }

  /** Tells whether JFR instruments the class of this internal name where it records. */
  static boolean isClassOfJfr(String name) {
    for (String entry : OF_JFR) {
      if (name.equals(entry)) {
        return true;
      }
    }
    return false;
  }

  /** Tells whether methods with an annotation of this descriptor are never instrumented. */
  static boolean isAnnotation(String descriptor) {
    for (String entry : ANNOTATIONS) {
      if (descriptor.equals(entry)) {
        return true;
      }
    }
    return false;
  }
}
