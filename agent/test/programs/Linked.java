import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;

/**
 * Calls a method through a method handle, interpreted: the linker of method handles removes its own
 * argument from the caller's stack. With the argument "room" the called method has one more local
 * variable, which makes room below its arguments; with "tight" it has none.
 */
public final class Linked {
  static int leaf(int x) {
    return x + 1;
  }

  static int tight(int x) {
    return leaf(x) * 2;
  }

  static int room(int x) {
    int y = leaf(x);
    return y * 2;
  }

  static int outer(MethodHandle called, int x) throws Throwable {
    return (int) called.invokeExact(x);
  }

  public static void main(String[] args) throws Throwable {
    MethodHandle called =
        MethodHandles.lookup()
            .findStatic(Linked.class, args[0], MethodType.methodType(int.class, int.class));
    long sum = 0;
    for (int i = 0; i < 1_000; i++) {
      sum += outer(called, i);
    }
    if (sum != 1_001_000) {
      System.exit(3);
    }
    System.out.println("linked: verified");
  }
}
