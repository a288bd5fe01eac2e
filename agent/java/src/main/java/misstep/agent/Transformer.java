package misstep.agent;

import java.io.IOException;
import java.lang.instrument.ClassFileTransformer;
import java.security.ProtectionDomain;
import java.util.List;
import misstep.agent.instrument.AnnotationRule;
import misstep.agent.instrument.Instrumented;
import misstep.agent.instrument.Instrumenter;

/**
 * Instruments classes as the JVM loads them. If anything fails, the class is loaded unchanged and
 * the native half gets the reason: a transformer must not break the program.
 *
 * <p>Thread-safe. While a thread instruments one class, the JVM does not pass it other classes that
 * it loads meanwhile (java.instrument: Reentrancy.c); the native half logs them.
 */
final class Transformer implements ClassFileTransformer {
  private static final AnnotationRule NONE =
      new AnnotationRule() {
        @Override
        public boolean forbids(String descriptor) {
          return false;
        }
      };

  /** The JVM honours the JDK's internal annotations only in its own classes. */
  private static final AnnotationRule BOOT =
      new AnnotationRule() {
        @Override
        public boolean forbids(String descriptor) {
          return Untouchable.isAnnotation(descriptor);
        }
      };

  private final Instrumenter instrumenter = new Instrumenter(Patch.SHADOW);
  private final Instrumenter.Choice choice;
  private final MethodList list;
  private final boolean jfr;

  /**
   * Makes a transformer.
   *
   * @param list may be null
   * @param jfr whether JFR records in this JVM
   */
  Transformer(Instrumenter.Choice choice, MethodList list, boolean jfr) {
    this.choice = choice;
    this.list = list;
    this.jfr = jfr;
  }

  @Override
  public byte[] transform(
      ClassLoader loader,
      String className,
      Class<?> redefined,
      ProtectionDomain domain,
      byte[] file) {
    if (className == null
        || Untouchable.isClass(className)
        || jfr && Untouchable.isClassOfJfr(className)) {
      return null;
    }
    try {
      Native.begin(className);
      return instrument(loader, className, redefined, file);
    } catch (StackOverflowError e) {
      tellOfFailure(className, e); // the program's own recursion came first; it may go on
      return null;
    } catch (Exception | LinkageError | AssertionError | OutOfMemoryError e) {
      tellOfFailure(className, e);
      return null;
    } finally {
      end();
    }
  }

  private static void end() {
    try {
      Native.end();
    } catch (StackOverflowError e) {
      // There is no room to tell it: the native half believes it until the thread's next class.
    }
  }

  private byte[] instrument(ClassLoader loader, String className, Class<?> redefined, byte[] file) {
    Instrumented made =
        instrumenter.instrument(
            file, choice, loader == null ? BOOT : NONE, NativeIds.INSTANCE, NativeIds.INSTANCE);
    if (made == null) {
      return null;
    }
    register(loader, className, redefined, made.methods);
    if (list != null) {
      list(className, made.methods);
    }
    return made.bytes;
  }

  /**
   * A full disk does not prevent the instrumentation of a class, whose ids have already been
   * reserved.
   */
  private void list(String className, List<Instrumented.Method> methods) {
    try {
      list.add(className, methods);
    } catch (IOException e) {
      tellOfFailure(className, e);
    }
  }

  /** Registers with the native half, in one call for each run of consecutive ids. */
  private static void register(
      ClassLoader loader, String className, Class<?> redefined, List<Instrumented.Method> methods) {
    int from = 0;
    for (int to = 1; to <= methods.size(); to++) {
      if (to < methods.size() && methods.get(to).id == methods.get(to - 1).id + 1) {
        continue;
      }
      int n = to - from;
      String[] keys = new String[n];
      int[] pushEnds = new int[n];
      int[][] exits = new int[n][];
      for (int i = 0; i < n; i++) {
        Instrumented.Method m = methods.get(from + i);
        keys[i] = m.key;
        pushEnds[i] = m.pushEnd;
        exits[i] = m.exits;
      }
      int firstId = methods.get(from).id;
      Native.registered(loader, className, firstId, keys, pushEnds, exits, redefined);
      from = to;
    }
  }

  private static void tellOfFailure(String className, Throwable why) {
    try {
      Native.failed(className, oneLine(why.toString()));
    } catch (StackOverflowError | OutOfMemoryError e) {
      // There is no room to tell it; the class is loaded as it is, which is what matters.
    }
  }

  private static String oneLine(String text) {
    return text.replace('\n', ' ').replace('\r', ' ');
  }

  /** Ids and complaints go to the native half. */
  private static final class NativeIds implements Instrumenter.Ids, Instrumenter.Problems {
    static final NativeIds INSTANCE = new NativeIds();

    @Override
    public int reserve(int n) {
      return Native.reserve(n);
    }

    @Override
    public void skipped(String className, String method, String why) {
      Native.failed(className, oneLine(method + ": " + why));
    }
  }
}
