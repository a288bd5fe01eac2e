import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

/** Two atomic operations on a concurrent map that are not atomic together. */
final class CheckThenAct {
  private CheckThenAct() {}

  private static void use(ConcurrentHashMap<String, Integer> cache, AtomicInteger made) {
    if (cache.get("key") == null) {
      cache.put("key", made.incrementAndGet());
    }
  }

  public static void main(String[] args) throws Exception {
    for (int i = 0; i < 20_000; i++) { // compiled, for both answers: the window lies between the two calls
      ConcurrentHashMap<String, Integer> warm = new ConcurrentHashMap<>();
      use(warm, new AtomicInteger());
      use(warm, new AtomicInteger());
      use(warm, new AtomicInteger());
    }
    Race.iterate(
        args,
        () -> {
          ConcurrentHashMap<String, Integer> cache = new ConcurrentHashMap<>();
          AtomicInteger made = new AtomicInteger();
          Runnable user =
              () -> {
                Race.work(20_000);
                use(cache, made);
              };
          Race.together(user, user, user);
          return made.get() == 1 ? null : "the value was made " + made + " times";
        });
  }
}
