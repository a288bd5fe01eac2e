package misstep.agent.instrument;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.Opcodes;

/**
 * Finds the pushes and pops in the finished bytes. ASM may still lengthen jumps when it writes, so
 * the places are known only from the finished bytes.
 */
final class Probes {
  private static final int METHODREF = 10;

  private final byte[] file;
  private final ClassReader reader;
  private final int enter; // constant pool index, 0 if absent
  private final int exit;

  Probes(String runtime, byte[] file) {
    this.file = file;
    this.reader = new ClassReader(file);
    this.enter = methodRef(runtime, Runtime.ENTER);
    this.exit = methodRef(runtime, Runtime.EXIT);
  }

  private int methodRef(String owner, String name) {
    char[] buffer = new char[reader.getMaxStringLength()];
    for (int i = reader.getItemCount() - 1; i > 0; i--) {
      int item = reader.getItem(i);
      if (item != 0
          && file[item - 1] == METHODREF
          && reader.readClass(item, buffer).equals(owner)
          && reader
              .readUTF8(reader.getItem(reader.readUnsignedShort(item + 2)), buffer)
              .equals(name)) {
        return i;
      }
    }
    return 0;
  }

  /**
   * The places in each method.
   *
   * @param ids by "name(descriptor)result"
   */
  List<Instrumented.Method> find(Map<String, Integer> ids) {
    List<Instrumented.Method> found = new ArrayList<>();
    for (ClassFile.Method m : ClassFile.methods(reader)) {
      Integer id = ids.get(m.key());
      if (id != null) {
        found.add(places(m, id));
      }
    }
    return found;
  }

  private Instrumented.Method places(ClassFile.Method m, int id) {
    int end = m.codeStart + m.codeLength;
    int pushEnd = -1;
    int[] exits = new int[4];
    int count = 0;
    int previous = m.codeStart;
    for (int at = m.codeStart; at < end; ) {
      int length = Bytecodes.length(file, m.codeStart, at);
      if ((file[at] & 0xff) == Opcodes.INVOKESTATIC) {
        int method = ClassFile.u2(file, at + 1);
        int next = at + length;
        int behind = next + Bytecodes.length(file, m.codeStart, next) - m.codeStart;
        if (method == enter && pushEnd < 0) {
          pushEnd = behind;
        } else if (method == exit) {
          if (count == exits.length) {
            exits = java.util.Arrays.copyOf(exits, 2 * count);
          }
          exits[count++] = previous - m.codeStart;
          exits[count++] = behind;
        }
      }
      previous = at;
      at += length;
    }
    if (pushEnd < 0) {
      throw new IllegalStateException("no push in " + m.key());
    }
    return new Instrumented.Method(id, m.key(), pushEnd, java.util.Arrays.copyOf(exits, count));
  }
}
