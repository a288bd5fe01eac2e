package misstep.workloads.upcalls;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ServiceLoader;
import misstep.workloads.FreshLoader;

/**
 * Reflection before and after inflation, proxies, annotations, enums by name and service providers.
 */
final class Reflection implements Part {
  private static final int CALLS = 24;
  static final long COUNT = CALLS * 2 + 3 + 4 + 2 + 5;

  @Override
  public long run(long seed) throws Exception {
    FreshLoader loader = new FreshLoader(Reflection.class, "fresh");
    Class<?> type = loader.loadClass("misstep.workloads.upcalls.fresh.Target");
    Method call = type.getMethod("call", int.class);
    long count = 0;
    for (int i = 0; i < CALLS; i++) {
      count += call.invoke(null, i).equals(i + 1) ? 1 : 0;
      try {
        call.invoke(null, -1 - i);
      } catch (InvocationTargetException e) {
        count += e.getCause() instanceof IllegalArgumentException ? 1 : 0;
      }
    }
    Marked marked = type.getAnnotation(Marked.class);
    count += marked.numbers().length;
    count +=
        marked.text().equals("default") && marked.equals(type.getAnnotation(Marked.class)) ? 4 : 0;
    return count + proxies(loader) + services(loader);
  }

  private static int proxies(FreshLoader loader) {
    Way proxy =
        (Way)
            Proxy.newProxyInstance(
                loader,
                new Class<?>[] {Way.class, Comparable.class},
                (object, method, arguments) -> {
                  if ((int) arguments[0] < 0) {
                    throw new java.io.IOException("as planned");
                  }
                  return arguments[0];
                });
    int count = proxy.go(1).equals(1) ? 1 : 0;
    try {
      proxy.go(-1);
    } catch (java.lang.reflect.UndeclaredThrowableException e) {
      count++;
    }
    return count;
  }

  private static int services(FreshLoader loader) {
    int sum = 0;
    for (Numbered numbered : ServiceLoader.load(Numbered.class, loader)) {
      sum += numbered.number();
    }
    return sum;
  }
}
