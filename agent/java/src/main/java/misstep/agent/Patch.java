package misstep.agent;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.GregorianCalendar;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.zip.CRC32;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.FieldVisitor;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.commons.ClassRemapper;
import org.objectweb.asm.commons.Remapper;

/**
 * Makes the patch jar of the JDK it runs on: that JDK's own {@code java.lang.Thread} with the field
 * {@code misstepShadow}, its own {@code java.lang.VirtualThread} that notes what is mounted, and
 * {@code java.lang.MisstepShadow}. The same JDK yields the same bytes.
 *
 * <p>The jar goes before the JDK's own classes: {@code --patch-module java.base=JAR} on 9 and
 * later, {@code -Xbootclasspath/p:JAR} on 8.
 */
public final class Patch {
  static final String SHADOW = "java/lang/MisstepShadow";
  static final String FIELD = "misstepShadow";
  static final String NOTES = "misstepMounts";

  private static final String THREAD = "java/lang/Thread";
  private static final String VIRTUAL_THREAD = "java/lang/VirtualThread";
  private static final String GET_CONTINUATION = "getContinuation()Ljdk/internal/vm/Continuation;";
  private static final String TEMPLATES = "misstep/agent/template/";

  private Patch() {}

  /** Writes the jar that the only argument names. Exit code 2: wrong use; 1: it failed. */
  public static void main(String[] args) {
    if (args.length != 1) {
      System.err.println("usage: java -cp misstep-agent.jar misstep.agent.Patch OUT.jar");
      System.exit(2);
    }
    try {
      write(Paths.get(args[0]));
    } catch (IOException | RuntimeException e) {
      System.err.println("misstep: making the patch jar " + args[0] + ": " + e);
      System.exit(1);
    }
  }

  private static void write(Path out) throws IOException {
    byte[] thread = resource(THREAD);
    Map<String, byte[]> classes = new TreeMap<>();
    classes.put(THREAD, patchedThread(thread));
    Traits traits = new Traits(thread);
    classes.put(SHADOW, shadow(resource(TEMPLATES + "MisstepShadow"), traits));
    if (traits.carriers) {
      classes.put(VIRTUAL_THREAD, patchedVirtualThread(resource(VIRTUAL_THREAD)));
    }
    try (OutputStream stream = Files.newOutputStream(out);
        ZipOutputStream zip = new ZipOutputStream(stream)) {
      for (Map.Entry<String, byte[]> e : classes.entrySet()) {
        zip.putNextEntry(stored(e.getKey() + ".class", e.getValue()));
        zip.write(e.getValue());
        zip.closeEntry();
      }
    }
  }

  /** An entry whose bytes depend on nothing but name and content: not the clock, not the zlib. */
  private static ZipEntry stored(String name, byte[] bytes) {
    CRC32 crc = new CRC32();
    crc.update(bytes);
    ZipEntry entry = new ZipEntry(name);
    entry.setMethod(ZipEntry.STORED);
    entry.setSize(bytes.length);
    entry.setCrc(crc.getValue());
    // Zip times are local: this is 1980-02-01 00:00:00 in any time zone.
    entry.setTime(new GregorianCalendar(1980, 1, 1).getTimeInMillis());
    return entry;
  }

  /** The traits of the JDK that the runtime class depends on, read from the JDK's own Thread. */
  static final class Traits {
    final int version; // class file version of the JDK's own classes
    final boolean modules; // 9 and later
    final boolean carriers; // 21 and later: virtual threads, Thread.getContinuation()

    Traits(byte[] thread) {
      ClassReader reader = new ClassReader(thread);
      version = reader.readInt(4);
      modules = (version & 0xffff) >= Opcodes.V9;
      final boolean[] found = new boolean[1];
      reader.accept(
          new ClassVisitor(Opcodes.ASM9) {
            @Override
            public MethodVisitor visitMethod(
                int access, String name, String descriptor, String signature, String[] thrown) {
              found[0] |= (name + descriptor).equals(GET_CONTINUATION);
              return null;
            }
          },
          ClassReader.SKIP_CODE | ClassReader.SKIP_DEBUG);
      carriers = found[0];
    }
  }

  /** The JDK's Thread with one more field; everything else is copied as it is. */
  static byte[] patchedThread(byte[] thread) {
    ClassReader reader = new ClassReader(thread);
    ClassWriter writer = new ClassWriter(reader, 0);
    reader.accept(
        new ClassVisitor(Opcodes.ASM9, writer) {
          @Override
          public FieldVisitor visitField(
              int access, String name, String descriptor, String signature, Object value) {
            if (name.equals(FIELD)) {
              throw new IllegalArgumentException("this JDK's java.lang.Thread is patched already");
            }
            return super.visitField(access, name, descriptor, signature, value);
          }

          @Override
          public void visitEnd() {
            // Synthetic, so that tools which list the fields of a class know it is not the
            // source's.
            int access = Opcodes.ACC_PUBLIC | Opcodes.ACC_TRANSIENT | Opcodes.ACC_SYNTHETIC;
            super.visitField(access, FIELD, "J", null, null).visitEnd();
            super.visitEnd();
          }
        },
        0);
    return writer.toByteArray();
  }

  /**
   * The JDK's VirtualThread whose {@code mount} and {@code unmount} note it on the carrier's shadow
   * right before each call of {@code Thread.setCurrentThread}. The other methods that call it leave
   * the thread mounted. A field says so, unless one of the two methods makes no such call.
   */
  static byte[] patchedVirtualThread(byte[] file) {
    ClassReader reader = new ClassReader(file);
    ClassWriter writer = new ClassWriter(reader, ClassWriter.COMPUTE_MAXS);
    Set<String> noting = new TreeSet<>();
    reader.accept(
        new ClassVisitor(Opcodes.ASM9, writer) {
          @Override
          public MethodVisitor visitMethod(
              int access, String name, String descriptor, String signature, String[] thrown) {
            MethodVisitor method = super.visitMethod(access, name, descriptor, signature, thrown);
            boolean switches = name.equals("mount") || name.equals("unmount");
            return switches ? new Noting(method, name, noting) : method;
          }

          @Override
          public void visitEnd() {
            if (noting.size() == 2) {
              int access = Opcodes.ACC_PRIVATE | Opcodes.ACC_STATIC | Opcodes.ACC_SYNTHETIC;
              super.visitField(access, NOTES, "Z", null, null).visitEnd();
            }
            super.visitEnd();
          }
        },
        0);
    return writer.toByteArray();
  }

  /** Calls a method of the runtime with the arguments of Thread.setCurrentThread, right before. */
  private static final class Noting extends MethodVisitor {
    private final String runtime;
    private final Set<String> noting;

    Noting(MethodVisitor next, String runtime, Set<String> noting) {
      super(Opcodes.ASM9, next);
      this.runtime = runtime;
      this.noting = noting;
    }

    @Override
    public void visitMethodInsn(
        int opcode, String owner, String name, String descriptor, boolean isInterface) {
      if (owner.equals(THREAD) && name.equals("setCurrentThread")) {
        noting.add(runtime);
        super.visitInsn(Opcodes.DUP2); // carrier, thread → carrier, thread, carrier, thread
        String both = "(Ljava/lang/Thread;Ljava/lang/Thread;)V";
        super.visitMethodInsn(Opcodes.INVOKESTATIC, SHADOW, runtime, both, false);
      }
      super.visitMethodInsn(opcode, owner, name, descriptor, isInterface);
    }
  }

  /** The template with the stand-ins renamed to the classes of this JDK. */
  static byte[] shadow(byte[] template, final Traits traits) {
    ClassReader reader = new ClassReader(template);
    ClassWriter writer = new ClassWriter(0);
    ClassVisitor renaming = new ClassRemapper(writer, new Names(traits));
    reader.accept(
        traits.carriers ? renaming : new WithoutCarriers(renaming), ClassReader.SKIP_DEBUG);
    return writer.toByteArray();
  }

  /** Renames the stand-ins. */
  private static final class Names extends Remapper {
    private final Traits traits;

    Names(Traits traits) {
      super(Opcodes.ASM9);
      this.traits = traits;
    }

    @Override
    public String map(String name) {
      if (!name.startsWith(TEMPLATES)) {
        return name;
      }
      switch (name.substring(TEMPLATES.length())) {
        case "MisstepShadow":
          return SHADOW;
        case "ThreadStub":
          return THREAD;
        case "ContinuationStub":
          return "jdk/internal/vm/Continuation";
        case "VirtualThreadStub":
          return "java/lang/BaseVirtualThread";
        case "UnsafeStub":
          return traits.modules ? "jdk/internal/misc/Unsafe" : "sun/misc/Unsafe";
        default:
          throw new IllegalArgumentException("the template uses an unknown stand-in " + name);
      }
    }
  }

  /** Makes carrierBelowVirtual return false: the JDK has no virtual threads. */
  private static final class WithoutCarriers extends ClassVisitor {
    WithoutCarriers(ClassVisitor next) {
      super(Opcodes.ASM9, next);
    }

    @Override
    public MethodVisitor visitMethod(
        int access, String name, String descriptor, String signature, String[] exceptions) {
      MethodVisitor method = super.visitMethod(access, name, descriptor, signature, exceptions);
      if (!name.equals("carrierBelowVirtual")) {
        return method;
      }
      method.visitCode();
      method.visitInsn(Opcodes.ICONST_0); // … → …, int
      method.visitInsn(Opcodes.IRETURN); // …, int → nothing
      method.visitMaxs(1, 1);
      method.visitEnd();
      return null;
    }
  }

  private static byte[] resource(String className) throws IOException {
    ClassLoader loader = Patch.class.getClassLoader();
    try (InputStream in = loader.getResourceAsStream(className + ".class")) {
      if (in == null) {
        throw new IOException("the class file of " + className + " is not to be found");
      }
      return readAll(in);
    }
  }

  static byte[] readAll(InputStream in) throws IOException {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    byte[] buffer = new byte[16384];
    for (int n = in.read(buffer); n >= 0; n = in.read(buffer)) {
      out.write(buffer, 0, n);
    }
    return out.toByteArray();
  }
}
