package misstep.workloads.upcalls;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.invoke.VarHandle;
import java.lang.invoke.WrongMethodTypeException;
import misstep.workloads.FreshLoader;

/**
 * Call sites and handles: fresh ones, of other types than the target's, and those that do not link.
 */
final class Linkage implements Part {
  static final long COUNT = 8 + 9;

  private long value;

  @Override
  public long run(long seed) throws Exception {
    Way fresh = new FreshLoader(Linkage.class, "fresh").make("Sites", Way.class);
    long count = 0;
    for (int i = 0; i < 8; i++) {
      int way = (int) Math.floorMod(seed + i, 8L);
      count += fresh.go(way).equals(String.valueOf(way)) ? 1 : 0;
    }
    try {
      return count + handles();
    } catch (Exception | Error e) {
      throw e;
    } catch (Throwable e) {
      throw new IllegalStateException(e);
    }
  }

  private static long add(int a, long b) {
    return a + b;
  }

  private static int handles() throws Throwable {
    MethodHandles.Lookup lookup = MethodHandles.lookup();
    MethodHandle add =
        lookup.findStatic(
            Linkage.class, "add", MethodType.methodType(long.class, int.class, long.class));
    int count = (long) add.invokeExact(2, 3L) == 5 ? 1 : 0;
    // Other types than the target's: the handle needs an adapter.
    Object boxed = (Object) add.invoke((short) 2, (Integer) 3);
    count += boxed.equals(5L) ? 1 : 0;
    count += (double) add.invoke((byte) 1, 3) == 4.0 ? 1 : 0;
    MethodHandle generic = add.asType(MethodType.genericMethodType(2));
    try {
      generic.invoke("text", 3L);
    } catch (ClassCastException e) {
      count++;
    }
    try {
      add.invokeExact("text");
    } catch (WrongMethodTypeException e) {
      count++;
    }
    try {
      lookup.findStatic(Linkage.class, "absent", MethodType.methodType(void.class));
    } catch (NoSuchMethodException e) {
      count++;
    }
    try {
      MethodHandles.publicLookup().findGetter(Linkage.class, "value", long.class);
    } catch (IllegalAccessException e) {
      count++;
    }
    VarHandle value = lookup.findVarHandle(Linkage.class, "value", long.class);
    Linkage target = new Linkage();
    boolean set = (boolean) value.compareAndSet(target, 0, 5);
    count += set && target.value == 5L ? 1 : 0;
    try {
      value.setVolatile(target, "text");
    } catch (WrongMethodTypeException | ClassCastException e) {
      count++;
    }
    return count;
  }
}
