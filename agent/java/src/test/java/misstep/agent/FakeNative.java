package misstep.agent;

import java.io.IOException;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import javax.tools.ToolProvider;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;

/** Replaces the native half by Java, so that the Java half can be tried without it. */
final class FakeNative {
  private static final int HEADER = 128;
  private static final int ENTRIES = 1 << 14;
  private static final String UNSAFE = "jdk/internal/misc/Unsafe";

  private static final String SOURCE =
      """
      package misstep.agent;

      final class Native {
        private static final StringBuilder TOLD = new StringBuilder();
        private static int next = 1;

        static String options() {
          Runtime.getRuntime().addShutdownHook(new Thread(Native::write));
          return System.getProperty("fake.options");
        }

        static synchronized int reserve(int n) {
          int first = next;
          next += n;
          return first;
        }

        static synchronized void registered(
            ClassLoader loader, String className, int firstId, String[] methods,
            int[] pushEnds, int[][] exits, Class<?> redefined) {
          if (Boolean.getBoolean("fake.broken") && firstId % 3 == 0) {
            throw new IllegalStateException("broken on purpose");
          }
          TOLD.append("registered ").append(className).append(' ').append(methods.length);
          TOLD.append(redefined != null ? " again\\n" : "\\n");
        }

        static void begin(String className) {}

        static void end() {}

        static synchronized void failed(String className, String why) {
          TOLD.append("failed ").append(className).append(": ").append(why).append('\\n');
        }

        static int append(String path, byte[] bytes) {
          try (java.io.FileOutputStream out = new java.io.FileOutputStream(path, true)) {
            out.write(bytes);
            return 0;
          } catch (java.io.IOException e) {
            return 5;
          }
        }

        static void leaveAlone(Thread thread) {}

        static void ready() {}

        private static synchronized void write() {
          try (java.io.FileWriter out = new java.io.FileWriter(System.getProperty("fake.told"))) {
            out.write(TOLD.toString());
          } catch (java.io.IOException e) {
            e.printStackTrace();
          }
        }
      }
      """;

  private FakeNative() {}

  /** Compiles the stand-in for misstep.agent.Native; returns its class path entry. */
  static Path compile(Path dir) throws IOException {
    Path source = Files.writeString(dir.resolve("Native.java"), SOURCE);
    int exit =
        ToolProvider.getSystemJavaCompiler()
            .run(null, null, null, "--release", "11", "-d", dir.toString(), source.toString());
    if (exit != 0) {
      throw new IOException("the stand-in does not compile");
    }
    return dir;
  }

  /** Gives the native methods of the runtime in a patch jar bodies in Java. */
  static void withoutNatives(Path patch) throws IOException {
    try (FileSystem jar = FileSystems.newFileSystem(patch)) {
      Path file = jar.getPath("java/lang/MisstepShadow.class");
      Files.write(file, withoutNatives(Files.readAllBytes(file)));
    }
  }

  private static byte[] withoutNatives(byte[] shadow) {
    ClassWriter writer = new ClassWriter(ClassWriter.COMPUTE_MAXS);
    new ClassReader(shadow)
        .accept(
            new ClassVisitor(Opcodes.ASM9, writer) {
              @Override
              public MethodVisitor visitMethod(
                  int access, String name, String descriptor, String signature, String[] thrown) {
                MethodVisitor mv =
                    super.visitMethod(
                        access & ~Opcodes.ACC_NATIVE, name, descriptor, signature, thrown);
                if (name.equals("attach")) {
                  attach(mv);
                } else if (name.equals("check")) {
                  mv.visitCode();
                  mv.visitInsn(Opcodes.RETURN);
                  mv.visitMaxs(0, 0);
                  mv.visitEnd();
                }
                return mv;
              }
            },
            0);
    return writer.toByteArray();
  }

  /**
   * A buffer of ENTRIES entries, whose countdown has as many, so that both ways to push are taken.
   */
  private static void attach(MethodVisitor mv) {
    mv.visitCode();
    unsafe(mv);
    mv.visitLdcInsn(HEADER + 8L * ENTRIES);
    mv.visitMethodInsn(Opcodes.INVOKEVIRTUAL, UNSAFE, "allocateMemory", "(J)J", false);
    mv.visitVarInsn(Opcodes.LSTORE, 1);
    put(mv, 0, HEADER);
    put(mv, 8, HEADER + 8L * ENTRIES);
    put(mv, 48, 0L);
    unsafe(mv);
    mv.visitVarInsn(Opcodes.LLOAD, 1);
    mv.visitLdcInsn(16L);
    mv.visitInsn(Opcodes.LADD);
    mv.visitLdcInsn((long) ENTRIES);
    mv.visitMethodInsn(Opcodes.INVOKEVIRTUAL, UNSAFE, "putLong", "(JJ)V", false);
    mv.visitVarInsn(Opcodes.ALOAD, 0);
    mv.visitVarInsn(Opcodes.LLOAD, 1);
    mv.visitFieldInsn(Opcodes.PUTFIELD, "java/lang/Thread", "misstepShadow", "J");
    mv.visitVarInsn(Opcodes.LLOAD, 1);
    mv.visitInsn(Opcodes.LRETURN);
    mv.visitMaxs(0, 3);
    mv.visitEnd();
  }

  private static void unsafe(MethodVisitor mv) {
    mv.visitFieldInsn(Opcodes.GETSTATIC, "java/lang/MisstepShadow", "U", "L" + UNSAFE + ";");
  }

  /** Stores buffer + value at buffer + offset. */
  private static void put(MethodVisitor mv, long offset, long value) {
    unsafe(mv);
    mv.visitVarInsn(Opcodes.LLOAD, 1);
    mv.visitLdcInsn(offset);
    mv.visitInsn(Opcodes.LADD);
    mv.visitVarInsn(Opcodes.LLOAD, 1);
    mv.visitLdcInsn(value);
    mv.visitInsn(Opcodes.LADD);
    mv.visitMethodInsn(Opcodes.INVOKEVIRTUAL, UNSAFE, "putLong", "(JJ)V", false);
  }
}
