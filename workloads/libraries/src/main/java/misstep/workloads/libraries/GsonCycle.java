package misstep.workloads.libraries;

import com.google.gson.Gson;

/**
 * Gson issue 625, 2.8.9, fixed in 2.10.1: of two classes that refer to each other, the adapter of
 * the inner one is in the cache of all threads before that of the outer one, which it uses.
 */
final class GsonCycle implements Bug {
  @Override
  public String round() throws Exception {
    Gson gson = new Gson();
    Outer outer = new Outer();
    outer.inner = new Inner();
    Inner inner = new Inner();
    inner.outer = new Outer();
    return Pair.run(() -> gson.toJson(outer), () -> gson.toJson(inner));
  }

  private static final class Outer {
    private Inner inner;
    private String name = "outer";
  }

  private static final class Inner {
    private Outer outer;
  }
}
