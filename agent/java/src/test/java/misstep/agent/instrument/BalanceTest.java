package misstep.agent.instrument;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import misstep.fixtures.Constructors;
import misstep.fixtures.Exceptions;
import misstep.fixtures.Overflow;
import misstep.fixtures.Shapes;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Instrumented programs do what they did, and their shadow is their stack. */
class BalanceTest {
  private final Map<Integer, Instrumented.Method> methods = new HashMap<>();
  private final Map<Integer, String> owners = new HashMap<>();

  @AfterEach
  void forget() {
    Shadow.reset();
  }

  @ParameterizedTest
  @ValueSource(classes = {Exceptions.class, Constructors.class, Shapes.class})
  void shadowIsTheStackAtEveryPush(Class<?> fixture) throws Exception {
    String expected = (String) fixture.getMethod("run").invoke(null);
    Class<?> instrumented = instrumentPackage().loadClass(fixture.getName());
    List<String> differences = new ArrayList<>();
    int[] compared = new int[1];
    Shadow.observe(
        ids -> {
          compared[0]++;
          List<String> shadow = names(ids);
          List<String> stack = stack(instrumented.getClassLoader());
          if (!shadow.equals(stack)) {
            differences.add("shadow " + shadow + "\n stack " + stack);
          }
        });
    Object result = instrumented.getMethod("run").invoke(null);
    assertEquals(expected, result);
    assertEquals(List.of(), differences.subList(0, Math.min(3, differences.size())));
    assertTrue(compared[0] > 30, "only " + compared[0] + " pushes");
    assertEquals(List.of(), Shadow.ids(), "all popped");
    assertEquals(Shadow.pushes(), Shadow.pops());
  }

  @Test
  void overflowHeals() throws Exception {
    Class<?> instrumented = instrumentPackage().loadClass(Overflow.class.getName());
    Object[] result = new Object[1];
    Thread thread =
        new Thread(
            null,
            () -> {
              try {
                result[0] = instrumented.getMethod("run").invoke(null) + " " + Shadow.ids();
              } catch (ReflectiveOperationException e) {
                result[0] = e.getCause();
              }
            },
            "overflow",
            512 * 1024);
    thread.start();
    thread.join();
    assertEquals("caught 40 []", result[0]);
  }

  /** All fixtures, instrumented, in a loader of their own. */
  private ChildLoader instrumentPackage() throws IOException {
    ChildLoader loader = new ChildLoader(BalanceTest.class.getClassLoader());
    Recorder recorder = new Recorder();
    for (Map.Entry<String, byte[]> e : ClassFiles.ofTests("misstep/fixtures").entrySet()) {
      Instrumented made = recorder.instrument(Shadow.NAME, e.getValue());
      if (made == null) {
        continue;
      }
      loader.add(e.getKey(), made.bytes);
      for (Instrumented.Method m : made.methods) {
        methods.put(m.id, m);
        owners.put(m.id, e.getKey().replace('/', '.'));
      }
    }
    assertEquals(List.of(), recorder.complaints);
    return loader;
  }

  private List<String> names(List<Integer> ids) {
    List<String> names = new ArrayList<>();
    for (int id : ids) {
      names.add(owners.get(id) + "." + methods.get(id).key);
    }
    return names;
  }

  /** The JVM's view, bottom first: frames of instrumented methods that say they have pushed. */
  private List<String> stack(ClassLoader loader) {
    List<String> frames = new ArrayList<>();
    Map<String, Instrumented.Method> byName = new HashMap<>();
    methods.forEach((id, m) -> byName.put(owners.get(id) + "." + m.key, m));
    StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE)
        .forEach(
            f -> {
              String name = f.getClassName() + "." + f.getMethodName() + f.getDescriptor();
              Instrumented.Method m = byName.get(name);
              if (f.getDeclaringClass().getClassLoader() != loader || m == null) {
                return;
              }
              boolean top = frames.isEmpty(); // it is just now pushing
              if (top || isPushed(m, f.getByteCodeIndex())) {
                frames.add(name);
              }
            });
    Collections.reverse(frames);
    return frames;
  }

  private static boolean isPushed(Instrumented.Method m, int bci) {
    if (bci < m.pushEnd) {
      return false;
    }
    for (int i = 0; i < m.exits.length; i += 2) {
      if (bci >= m.exits[i] && bci < m.exits[i + 1]) {
        return false;
      }
    }
    return true;
  }
}
