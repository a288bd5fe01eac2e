package misstep.agent;

import java.io.IOException;
import java.io.InputStream;
import java.lang.instrument.Instrumentation;
import java.lang.reflect.Method;
import java.util.Collections;
import java.util.Map;
import java.util.Set;
import misstep.agent.instrument.AnnotationRule;
import misstep.agent.instrument.Instrumenter;

/**
 * Entry point of the Java half. The native half (-agentpath) has come first, has read the options
 * and linked the runtime's native methods; here the transformer is installed. Without the native
 * half, or without the patch jar, nothing is instrumented and one line on stderr says so.
 */
public final class Agent {
  private Agent() {}

  /** The argument under which no class is instrumented. */
  static final String STACKS_ONLY = "stacks-only";

  /**
   * Called by the JVM before main. The options come from -agentpath; there are none where the
   * native half leaves this JVM alone.
   *
   * @param only {@link #STACKS_ONLY} to start only the {@link StackSampler}, else null
   */
  public static void premain(String only, Instrumentation instrumentation) {
    try {
      if (Native.options() == null) {
        return;
      }
      if (!STACKS_ONLY.equals(only)) {
        install(instrumentation);
      }
    } catch (UnsatisfiedLinkError e) {
      complain("libmisstep is not loaded (give -agentpath before -javaagent): " + e.getMessage());
    } catch (ClassNotFoundException e) {
      complain("the patch jar of this JDK is not in front of its classes: " + e.getMessage());
    } catch (IOException | RuntimeException | LinkageError e) {
      complain(e.toString());
    }
    try {
      sampleStacks(Native.options());
    } catch (IOException | LinkageError e) {
      System.err.println("misstep: no stack traces are taken: " + e);
    }
  }

  private static void sampleStacks(String options) throws IOException {
    long nanos = Options.stacksNanos(options);
    if (nanos > 0) {
      new StackSampler(Options.out(options) + '/' + StackSampler.FILE, nanos).start();
    }
  }

  private static void install(Instrumentation instrumentation)
      throws IOException, ClassNotFoundException {
    String options = Native.options();
    MethodChoice choice = Options.methodChoice(options);
    MethodList list = methodList(Options.out(options));
    // Initialized now, and not by the first instrumented method, whoever that will be.
    Class.forName(Patch.SHADOW.replace('/', '.'), true, null);
    warmUp();
    makeModulesRead(instrumentation);
    instrumentation.addTransformer(new Transformer(choice, list, Options.jfr(options)), true);
    Native.ready();
  }

  /** The list in the agent's folder; null without a folder, or when the disk is full. */
  private static MethodList methodList(String out) {
    if (out.isEmpty()) {
      return null;
    }
    try {
      return new MethodList(out + '/' + MethodList.NAME);
    } catch (IOException e) {
      complain("the instrumented methods are not listed: " + e.getMessage());
      return null;
    }
  }

  /**
   * Instruments a class for nothing, so that the classes this needs are loaded now: later they
   * would be loaded in the middle of the program's own loading, and escape instrumentation or not
   * depending on which thread comes first.
   */
  private static void warmUp() throws IOException {
    // ASM boxes the constants of a class, and Long has its cache in a class of its own.
    Long.valueOf(0);
    try (InputStream in = Agent.class.getResourceAsStream("instrument/InitCall.class")) {
      if (in == null) {
        throw new IOException("the agent's jar is not complete");
      }
      Nothing nothing = new Nothing();
      new Instrumenter(Patch.SHADOW)
          .instrument(Patch.readAll(in), nothing, nothing, nothing, nothing);
    }
  }

  /**
   * Does once what the VM does when a class of a named module has been transformed for the first
   * time: the module gets to read an unnamed one (ClassFileParser::fill_instance_klass,
   * Modules.transformedByAgent, 9 and later). If that were the first time anyone asked for it, the
   * classes that it needs would be loaded, and transformed, inside of their own loading, and fail
   * (ClassCircularityError): JFR, whose module is the first one as it starts before main, would end
   * the JVM.
   */
  private static void makeModulesRead(Instrumentation instrumentation) {
    try {
      Object base = Class.class.getMethod("getModule").invoke(Object.class);
      Object unnamed =
          ClassLoader.class
              .getMethod("getUnnamedModule")
              .invoke(ClassLoader.getSystemClassLoader());
      Set<Object> reads = Collections.singleton(unnamed);
      Map<?, ?> none = Collections.emptyMap();
      for (Method m : Instrumentation.class.getMethods()) {
        if (m.getName().equals("redefineModule")) {
          m.invoke(instrumentation, base, reads, none, none, Collections.emptySet(), none);
        }
      }
    } catch (NoSuchMethodException e) {
      return; // a JDK without modules
    } catch (ReflectiveOperationException e) {
      System.err.println(
          "misstep: JFR may not start where all classes are instrumented: " + e.getCause());
    }
  }

  /** Chooses all and keeps nothing. */
  private static final class Nothing
      implements Instrumenter.Choice, Instrumenter.Ids, Instrumenter.Problems, AnnotationRule {
    @Override
    public boolean chooses(String className, String name, String descriptor) {
      return MethodChoice.value(className + '.' + name + descriptor, 0) != 0;
    }

    @Override
    public int reserve(int n) {
      return Short.MAX_VALUE; // so that both ways to load an id are taken
    }

    @Override
    public void skipped(String className, String method, String why) {}

    @Override
    public boolean forbids(String descriptor) {
      return Untouchable.isAnnotation(descriptor);
    }
  }

  private static void complain(String why) {
    System.err.println("misstep: no class is instrumented: " + why);
  }
}
