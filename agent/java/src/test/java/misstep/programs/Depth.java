package misstep.programs;

import java.lang.reflect.Field;
import java.lang.reflect.Method;

/** Reads how much is on this thread's shadow; 0 without the agent. */
final class Depth {
  private final Field field;
  private final Object unsafe;
  private final Method getLong;

  Depth() throws Exception {
    Field f;
    try {
      f = Thread.class.getField("misstepShadow");
    } catch (NoSuchFieldException e) {
      f = null;
    }
    field = f;
    Class<?> type = Class.forName("jdk.internal.misc.Unsafe"); // see AgentIT's --add-exports
    unsafe = type.getMethod("getUnsafe").invoke(null);
    getLong = type.getMethod("getLong", long.class);
  }

  /** Bytes between the buffer's begin and the top, as seen by the caller. */
  long get() throws ReflectiveOperationException {
    if (field == null) {
      return 0;
    }
    long buffer = field.getLong(Thread.currentThread());
    if (buffer <= 0) {
      return 0;
    }
    // The top within this call of reflection is the same each time: its depth does not vary.
    return (Long) getLong.invoke(unsafe, buffer) - buffer;
  }
}
