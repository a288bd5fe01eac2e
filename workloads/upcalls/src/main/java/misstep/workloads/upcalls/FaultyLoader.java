package misstep.workloads.upcalls;

import java.nio.charset.StandardCharsets;
import misstep.workloads.FreshLoader;

/** Defines the fresh classes anew, except for one for which it fails. */
final class FaultyLoader extends FreshLoader {
  /** What it does when the missing class is requested. */
  enum Fault {
    NOT_FOUND,
    NULL,
    OTHER_CLASS,
    OTHER_NAME,
    TRUNCATED,
    TWICE,
    RUNTIME_EXCEPTION,
    ERROR,
    /** Its members have other names than its users expect. */
    OTHER_MEMBERS
  }

  /** Thrown by {@link Fault#RUNTIME_EXCEPTION}. */
  static final class Refused extends RuntimeException {}

  /** Thrown by {@link Fault#ERROR}. */
  static final class Broke extends Error {}

  private static final String PREFIX = "misstep.workloads.upcalls.fresh.";
  static final String MISSING = PREFIX + "Missing";

  private final Fault fault;
  private int asked;

  FaultyLoader(Fault fault) {
    super(FaultyLoader.class, "fresh");
    this.fault = fault;
  }

  /** Returns how often the missing class was requested. */
  synchronized int asked() {
    return asked;
  }

  Way way(String name) throws ReflectiveOperationException {
    return make(name, Way.class);
  }

  @Override
  protected Class<?> findClass(String name) throws ClassNotFoundException {
    return name.equals(MISSING) ? missing() : super.findClass(name);
  }

  private synchronized Class<?> missing() throws ClassNotFoundException {
    asked++;
    byte[] bytes = bytes(MISSING);
    switch (fault) {
      case NOT_FOUND:
        throw new ClassNotFoundException(MISSING);
      case NULL:
        return null;
      case OTHER_CLASS:
        return String.class;
      case OTHER_NAME:
        return define(MISSING, bytes(PREFIX + "Two"));
      case TRUNCATED:
        return defineClass(MISSING, bytes, 0, bytes.length / 2);
      case TWICE:
        define(PREFIX + "Two", bytes(PREFIX + "Two"));
        return define(PREFIX + "Two", bytes(PREFIX + "Two"));
      case RUNTIME_EXCEPTION:
        throw new Refused();
      case ERROR:
        throw new Broke();
      case OTHER_MEMBERS:
        return define(MISSING, renamed(bytes));
      default:
        throw new IllegalStateException(fault.name());
    }
  }

  private Class<?> define(String name, byte[] bytes) {
    return defineClass(name, bytes, 0, bytes.length);
  }

  /** Renames the members whose names begin with "member" in the constant pool. */
  private static byte[] renamed(byte[] bytes) {
    String text = new String(bytes, StandardCharsets.ISO_8859_1);
    return text.replace("member", "MEMBER").getBytes(StandardCharsets.ISO_8859_1);
  }
}
