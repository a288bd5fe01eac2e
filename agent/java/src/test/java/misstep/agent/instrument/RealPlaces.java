package misstep.agent.instrument;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;

/** Where pushes and pops really are. */
final class RealPlaces {
  private RealPlaces() {}

  /** Compares the places told with those that ASM's reader reports while it visits. */
  static void check(Instrumented made, String runtime) {
    Map<String, Places> seen = new TreeMap<>();
    new Reader(made.bytes, runtime, seen).read();
    List<String> told = new ArrayList<>();
    for (Instrumented.Method m : made.methods) {
      told.add(m.key);
      Places places = seen.get(m.key);
      assertEquals(List.of(m.id), places.ids, m.key);
      assertEquals(places.pushEnd, m.pushEnd, m.key);
      List<Integer> exits = new ArrayList<>();
      Arrays.stream(m.exits).forEach(exits::add);
      assertEquals(places.exits, exits, m.key);
      assertTrue(exits.size() >= 2, m.key + " has no exit"); // at least the handler's
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
    private final String runtime;
    private final Map<String, Places> seen;
    private int bci;

    Reader(byte[] file, String runtime, Map<String, Places> seen) {
      super(file);
      this.runtime = runtime;
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
        } else if ((runtime + ".enter").equals(operand)) {
          places.ids.add((Integer) constant);
          entered = true;
        } else if ((runtime + ".exit").equals(operand)) {
          exitFrom = loadedAt;
        }
      }
    }
  }
}
