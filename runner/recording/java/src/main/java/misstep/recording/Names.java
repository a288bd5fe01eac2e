package misstep.recording;

import org.openjdk.jmc.common.IMCClassLoader;
import org.openjdk.jmc.common.IMCThread;
import org.openjdk.jmc.common.IMCType;

/** Properties of constants; those that JMC's interfaces lack are read from its classes' public fields. */
final class Names {
  private Names() {}

  /** Returns a class's binary name, null where the chunk lacks it. */
  static String of(IMCType type) {
    try {
      return type == null ? null : type.getFullName();
    } catch (RuntimeException e) {
      // JMC cuts off the package's name without looking whether the class's begins with it.
      return null;
    }
  }

  /** Returns the loader's name or else its class's; null where the chunk lacks it. */
  static String loader(IMCType type) {
    if (!(field(type, "classLoader") instanceof IMCClassLoader loader)) {
      return null;
    }
    return loader.getName() != null ? loader.getName() : of(loader.getType());
  }

  /** Returns the kernel's number of a thread; 0 for a virtual one. */
  static long osId(IMCThread thread) {
    return field(thread, "osThreadId") instanceof Number id ? id.longValue() : 0;
  }

  private static Object field(Object object, String name) {
    try {
      var field = object.getClass().getField(name);
      field.setAccessible(true);
      return field.get(object);
    } catch (ReflectiveOperationException e) {
      return null;
    }
  }
}
