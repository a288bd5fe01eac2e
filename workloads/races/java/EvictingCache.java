import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

/** A cache closes what it evicts while somebody who has just got it is about to use it. */
final class EvictingCache {
  private static volatile boolean usedClosed;

  private EvictingCache() {}

  /** A value with the number of its users. */
  private static final class Value {
    final AtomicInteger users = new AtomicInteger();
    volatile boolean closed;
  }

  public static void main(String[] args) throws Exception {
    Race.periodic(
        args,
        () -> {
          ConcurrentHashMap<String, Value> cache = new ConcurrentHashMap<>();
          cache.put("key", new Value());
          Race.together(
              () -> {
                Race.pause(0.5);
                Value v =
                    cache.computeIfPresent(
                        "key",
                        (k, found) -> {
                          if (Race.fixed) {
                            found.users.incrementAndGet();
                          }
                          return found;
                        });
                if (v == null) {
                  return;
                }
                Race.gap(0.2); // it is evicted over 6 ms later
                v.users.incrementAndGet();
                usedClosed |= v.closed;
              },
              () -> {
                Race.pause(7);
                cache.computeIfPresent(
                    "key",
                    (k, found) -> {
                      if (found.users.get() > 0) {
                        return found;
                      }
                      found.closed = true;
                      return null;
                    });
              });
          return usedClosed ? "an evicted value was used" : null;
        });
  }
}
