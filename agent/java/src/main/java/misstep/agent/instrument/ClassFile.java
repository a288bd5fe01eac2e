package misstep.agent.instrument;

import java.util.ArrayList;
import java.util.List;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.Opcodes;

/**
 * The outline of a class file: which methods have code, where it is, how many locals it has. ASM
 * passes the number of locals only after a method's code, which is too late for adding a local to
 * that code; and no ASM visitor gets bcis.
 */
final class ClassFile {
  /** A method that has code. */
  static final class Method {
    final int access;
    final String name;
    final String descriptor;
    final int maxLocals;
    final int codeStart; // offset of the first instruction in the class file
    final int codeLength; // bytes

    Method(
        int access, String name, String descriptor, int maxLocals, int codeStart, int codeLength) {
      this.access = access;
      this.name = name;
      this.descriptor = descriptor;
      this.maxLocals = maxLocals;
      this.codeStart = codeStart;
      this.codeLength = codeLength;
    }

    /** "name(descriptor)result". */
    String key() {
      return name + descriptor;
    }
  }

  private ClassFile() {}

  /** The major version in the class file's head. */
  static int majorVersion(byte[] file) {
    if (file.length < 10 || u4(file, 0) != 0xcafebabe) {
      throw new IllegalArgumentException("not a class file");
    }
    return u2(file, 6);
  }

  /** Whether the constant pool has a class of this internal name. */
  static boolean refersTo(ClassReader reader, String className) {
    final int classTag = 7;
    char[] buffer = new char[reader.getMaxStringLength()];
    for (int i = 1; i < reader.getItemCount(); i++) {
      int at = reader.getItem(i); // behind the tag; 0 behind a long or double
      if (at > 0
          && reader.readByte(at - 1) == classTag
          && className.equals(reader.readUTF8(at, buffer))) {
        return true;
      }
    }
    return false;
  }

  /** All methods with code in the order of the file; native and abstract ones have none. */
  static List<Method> methods(ClassReader reader) {
    char[] buffer = new char[reader.getMaxStringLength()];
    int at = reader.header + 6; // access, this, super
    at += 2 + 2 * reader.readUnsignedShort(at); // interfaces
    int fields = reader.readUnsignedShort(at);
    at += 2;
    for (int i = 0; i < fields; i++) {
      at = skipAttributes(reader, at + 6);
    }
    List<Method> methods = new ArrayList<>();
    int count = reader.readUnsignedShort(at);
    at += 2;
    for (int i = 0; i < count; i++) {
      int access = reader.readUnsignedShort(at);
      String name = reader.readUTF8(at + 2, buffer);
      String descriptor = reader.readUTF8(at + 4, buffer);
      int attributes = reader.readUnsignedShort(at + 6);
      at += 8;
      for (int a = 0; a < attributes; a++) {
        if ((access & (Opcodes.ACC_NATIVE | Opcodes.ACC_ABSTRACT)) == 0
            && "Code".equals(reader.readUTF8(at, buffer))) {
          int maxLocals = reader.readUnsignedShort(at + 8);
          int codeLength = reader.readInt(at + 10);
          methods.add(new Method(access, name, descriptor, maxLocals, at + 14, codeLength));
        }
        at += 6 + reader.readInt(at + 2);
      }
    }
    return methods;
  }

  private static int skipAttributes(ClassReader reader, int at) {
    int count = reader.readUnsignedShort(at);
    at += 2;
    for (int i = 0; i < count; i++) {
      at += 6 + reader.readInt(at + 2);
    }
    return at;
  }

  static int u2(byte[] b, int at) {
    return (b[at] & 0xff) << 8 | b[at + 1] & 0xff;
  }

  static int u4(byte[] b, int at) {
    return u2(b, at) << 16 | u2(b, at + 2);
  }
}
