package misstep.agent.instrument;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassTooLargeException;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.MethodTooLargeException;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.commons.JSRInlinerAdapter;

/**
 * Rewrites class files so that chosen methods push their id on entry and pop it on every exit.
 *
 * <p>A method {@code m} becomes
 *
 * <pre>
 * long saved = Runtime.enter(ID);   // in a constructor right after super() or this()
 * try { m's code, with Runtime.exit(saved) before each return }
 * catch (anything) { Runtime.exit(saved); throw it; }
 * </pre>
 *
 * {@code saved} is a local after all of the method's own. Nothing else changes: no field, no
 * method, no annotation, so the JVM also accepts the result for a class that is already loaded. The
 * same input and ids yield the same bytes.
 *
 * <p>Stateless and thread-safe.
 */
public final class Instrumenter {
  /** The latest class file version that is supported: Java 28. Later ones are left alone. */
  public static final int MAX_MAJOR = Opcodes.V28 & 0xffff;

  private static final int MAX_LOCALS = 65535 - 2;

  /** Chooses methods of the current class. */
  public interface Choice {
    /** Called once for each method that has code. */
    boolean chooses(String className, String name, String descriptor);

    /** Whether leaves and forwarders may be among them: see {@link Leaves}. */
    default boolean leaves() {
      return true;
    }
  }

  /** Reserves method ids. */
  public interface Ids {
    /** The first of n consecutive ids that no other caller gets; n is at least 1. */
    int reserve(int n);
  }

  /** Receives chosen methods that are not instrumented, unless a rule excludes them. */
  public interface Problems {
    /** Called once for each, with a reason of one line. */
    void skipped(String className, String method, String why);
  }

  private final String runtime;

  /**
   * @param runtime internal name of the class with {@code static long enter(int)} and {@code static
   *     void exit(long)}
   */
  public Instrumenter(String runtime) {
    this.runtime = runtime;
  }

  /**
   * Instruments a class.
   *
   * @return null if no method was chosen or could be instrumented: the class stays unchanged
   * @throws IllegalArgumentException if the class file's version is beyond {@link #MAX_MAJOR}
   * @throws RuntimeException of ASM's if the class file is broken
   */
  public Instrumented instrument(
      byte[] file, Choice choice, AnnotationRule rule, Ids ids, Problems problems) {
    int major = ClassFile.majorVersion(file);
    if (major > MAX_MAJOR) {
      throw new IllegalArgumentException(
          "class file version " + major + " is newer than " + MAX_MAJOR + " (Java 28)");
    }
    ClassReader reader = new ClassReader(file);
    String className = reader.getClassName();
    List<ClassFile.Method> chosen = new ArrayList<>();
    for (ClassFile.Method m : ClassFile.methods(reader)) {
      if (choice.chooses(className, m.name, m.descriptor)
          && (choice.leaves() || !Leaves.isLeafOrForwarder(file, m))) {
        if (m.maxLocals > MAX_LOCALS) {
          problems.skipped(className, m.key(), "no local slot is left");
        } else {
          chosen.add(m);
        }
      }
    }
    if (!chosen.isEmpty() && ClassFile.refersTo(reader, runtime)) {
      return alreadyInstrumented(file, chosen, ids);
    }
    Set<String> tooLarge = new HashSet<>();
    while (true) {
      Pass pass = new Pass(chosen, tooLarge);
      if (pass.regions.isEmpty()) {
        return null;
      }
      pass.firstId = ids.reserve(pass.regions.size());
      byte[] bytes;
      try {
        bytes = pass.write(reader, rule, major);
      } catch (MethodTooLargeException e) {
        String key = e.getMethodName() + e.getDescriptor();
        if (!tooLarge.add(key)) {
          throw e; // the original itself is too large: it cannot have been a valid class
        }
        problems.skipped(className, key, "would exceed 64 KB");
        continue;
      } catch (ClassTooLargeException e) {
        problems.skipped(className, "*", "the constant pool would exceed 65535 entries");
        return null;
      }
      pass.report(className, problems);
      List<Instrumented.Method> methods = new Probes(runtime, bytes).find(pass.ids);
      return methods.isEmpty() ? null : new Instrumented(bytes, methods);
    }
  }

  /**
   * A class that JFR rewrote (HotSpot: jfrEventClassTransformer.cpp) is retransformed from its
   * current code, which has pushes and pops at unknown places: it is left unchanged.
   */
  private static Instrumented alreadyInstrumented(
      byte[] file, List<ClassFile.Method> chosen, Ids ids) {
    int id = ids.reserve(chosen.size());
    List<Instrumented.Method> methods = new ArrayList<>();
    for (ClassFile.Method m : chosen) {
      methods.add(new Instrumented.Method(id++, m.key(), 0, new int[0]));
    }
    return new Instrumented(file, methods);
  }

  /** One attempt at writing the class. */
  private final class Pass {
    /** Every method that is to be instrumented, by key, in the order of the file. */
    final Map<String, Region> regions = new HashMap<>();

    final List<String> keys = new ArrayList<>();

    /** The id of each instrumented method, by key. */
    final Map<String, Integer> ids = new HashMap<>();

    int firstId;

    Pass(List<ClassFile.Method> chosen, Set<String> without) {
      for (ClassFile.Method m : chosen) {
        if (!without.contains(m.key())) {
          regions.put(m.key(), new Region(keys.size(), m.maxLocals));
          keys.add(m.key());
        }
      }
    }

    byte[] write(ClassReader reader, final AnnotationRule rule, final int major) {
      // With the reader, the writer copies unchanged methods, and the constant pool.
      ClassWriter writer = new ClassWriter(reader, 0);
      reader.accept(
          new ClassVisitor(Opcodes.ASM9, writer) {
            private String owner;

            @Override
            public void visit(
                int version,
                int access,
                String name,
                String signature,
                String superName,
                String[] interfaces) {
              owner = name;
              super.visit(version, access, name, signature, superName, interfaces);
            }

            @Override
            public MethodVisitor visitMethod(
                int access, String name, String descriptor, String signature, String[] thrown) {
              MethodVisitor next = super.visitMethod(access, name, descriptor, signature, thrown);
              Region region = regions.get(name + descriptor);
              if (region == null) {
                return next;
              }
              SavedTop savedTop = new SavedTop(next, region, major >= Opcodes.V1_6);
              PushPop pushPop =
                  new PushPop(
                      new Rethrow(savedTop, region, runtime),
                      region,
                      runtime,
                      firstId + region.index);
              MethodVisitor first =
                  name.equals("<init>")
                      ? new Constructor(
                          access, name, descriptor, signature, thrown, owner, region, pushPop, rule)
                      : new OrdinaryMethod(pushPop, region, rule);
              // Up to version 50 subroutines (jsr, ret) may occur: a frame cannot describe them.
              return major <= Opcodes.V1_6
                  ? new JSRInlinerAdapter(first, access, name, descriptor, signature, thrown)
                  : first;
            }
          },
          ClassReader.EXPAND_FRAMES);
      return writer.toByteArray();
    }

    void report(String className, Problems problems) {
      for (int i = 0; i < keys.size(); i++) {
        Region region = regions.get(keys.get(i));
        if (region.instrumented) {
          ids.put(keys.get(i), firstId + i);
        } else if (!region.excluded) {
          problems.skipped(className, keys.get(i), region.why);
        }
      }
    }
  }
}
