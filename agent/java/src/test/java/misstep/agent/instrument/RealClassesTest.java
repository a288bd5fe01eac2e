package misstep.agent.instrument;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.util.CheckClassAdapter;

/** Every method of every class of real libraries, of four compilers. */
class RealClassesTest {
  private static final String RUNTIME = "java/lang/MisstepShadow";

  @Test
  void baseModule() throws IOException {
    check(ClassFiles.ofModule("java.base"), 6000);
  }

  @ParameterizedTest
  @ValueSource(strings = {"asm", "asm-tree", "kotlin-stdlib", "scala-library", "scala3-library_3"})
  void jars(String jar) throws IOException {
    check(ClassFiles.ofJar(jar), 30);
  }

  private static void check(Map<String, byte[]> files, int atLeast) {
    assertTrue(files.size() >= atLeast, "only " + files.size() + " classes");
    List<String> problems = new ArrayList<>();
    Recorder recorder = new Recorder();
    int methods = 0;
    for (Map.Entry<String, byte[]> e : files.entrySet()) {
      byte[] file = e.getValue();
      byte[] before = file.clone();
      Instrumented made = recorder.instrument(RUNTIME, file);
      assertArrayEquals(before, file, "the input must not change");
      if (made == null) {
        continue;
      }
      methods += made.methods.size();
      Instrumented again = Recorder.from(recorder.firstId).instrument(RUNTIME, before);
      assertArrayEquals(made.bytes, again.bytes, e.getKey() + " differs the second time");
      // Scala writes access flags that ASM's check refuses: what is wrong before may stay wrong.
      if (!verdict(made.bytes).equals(verdict(file))) {
        problems.add(e.getKey() + ": " + verdict(made.bytes));
      }
      checkPlaces(made);
    }
    assertEquals(List.of(), problems);
    // The one constructor that calls no other.
    recorder.complaints.remove("java/lang/Object.<init>()V: 0 calls of super() or this()");
    assertEquals(List.of(), recorder.complaints);
    assertTrue(methods >= files.size() / 2, "only " + methods + " methods");
  }

  private static String verdict(byte[] file) {
    try {
      new ClassReader(file).accept(new CheckClassAdapter(new ClassWriter(0), true), 0);
      return "correct";
    } catch (RuntimeException e) {
      return e.toString();
    }
  }

  /** Compares the places told with those that ASM's reader reports while it visits. */
  static void checkPlaces(Instrumented made) {
    Map<String, Places> seen = new TreeMap<>();
    new Reader(made.bytes, seen).read();
    List<String> told = new ArrayList<>();
    for (Instrumented.Method m : made.methods) {
      told.add(m.key);
      Places places = seen.get(m.key);
      assertEquals(List.of(m.id), places.ids, m.key);
      assertEquals(places.pushEnd, m.pushEnd, m.key);
      List<Integer> exits = new ArrayList<>();
      Arrays.stream(m.exits).forEach(exits::add);
      assertEquals(places.exits, exits, m.key);
      assertTrue(exits.size() >= 2, m.key + " has no exit");
    }
    told.sort(null);
    List<String> pushing = new ArrayList<>(seen.keySet());
    pushing.removeIf(key -> seen.get(key).ids.isEmpty());
    assertEquals(pushing, told);
  }

  private static final class Places {
    final List<Integer> ids = new ArrayList<>();
    final List<Integer> exits = new ArrayList<>();
    int pushEnd = -1;
  }

  /** Reads the places in another way than the main code: a visitor that knows the reader's bci. */
  private static final class Reader extends ClassReader {
    private final Map<String, Places> seen;
    private int bci;

    Reader(byte[] file, Map<String, Places> seen) {
      super(file);
      this.seen = seen;
    }

    @Override
    protected void readBytecodeInstructionOffset(int bytecodeOffset) {
      bci = bytecodeOffset;
    }

    void read() {
      accept(
          new ClassVisitor(Opcodes.ASM9) {
            @Override
            public MethodVisitor visitMethod(
                int access, String name, String descriptor, String signature, String[] thrown) {
              Places places = new Places();
              seen.put(name + descriptor, places);
              return new PlaceFinder(places);
            }
          },
          SKIP_FRAMES);
    }

    private final class PlaceFinder extends AnyInstruction {
      private final Places places;
      private Object constant;
      private int loadedAt = -1;
      private int exitFrom = -1;
      private boolean entered;

      PlaceFinder(Places places) {
        this.places = places;
      }

      @Override
      void any(int opcode, Object operand) {
        if (entered && places.pushEnd < 0 && opcode != Opcodes.LSTORE) {
          places.pushEnd = bci;
        }
        if (exitFrom >= 0) {
          boolean leaves =
              opcode == Opcodes.ATHROW || opcode >= Opcodes.IRETURN && opcode <= Opcodes.RETURN;
          assertTrue(leaves, "after the pop the method leaves");
          places.exits.add(exitFrom);
          places.exits.add(bci + 1);
          exitFrom = -1;
        }
        if (operand instanceof Integer && opcode != Opcodes.LLOAD) {
          constant = operand;
        } else if (opcode == Opcodes.LLOAD) {
          loadedAt = bci;
        } else if ((RUNTIME + ".enter").equals(operand)) {
          places.ids.add((Integer) constant);
          entered = true;
        } else if ((RUNTIME + ".exit").equals(operand)) {
          exitFrom = loadedAt;
        }
      }
    }
  }
}
