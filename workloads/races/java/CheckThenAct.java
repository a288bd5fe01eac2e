import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

/** Two atomic operations on a concurrent map that are not atomic together. */
final class CheckThenAct {
  private CheckThenAct() {}

  public static void main(String[] args) throws Exception {
    Race.iterate(
        args,
        () -> {
          ConcurrentHashMap<String, Integer> cache = new ConcurrentHashMap<>();
          AtomicInteger made = new AtomicInteger();
          Runnable user =
              () -> {
                Race.work(20_000);
                if (cache.get("key") == null) {
                  cache.put("key", made.incrementAndGet());
                }
              };
          Race.together(user, user, user);
          return made.get() == 1 ? null : "the value was made " + made + " times";
        });
  }
}
