/** Lazy initialisation that publishes an object before it is filled in. */
final class Publication {
  private static final class Holder {
    volatile int value;
  }

  private static volatile Holder instance;
  private static volatile boolean broken;

  private Publication() {}

  private static Holder get() {
    if (instance == null) {
      synchronized (Publication.class) {
        if (instance == null) {
          instance = new Holder();
          Race.window();
          instance.value = 42;
        }
      }
    }
    return instance;
  }

  public static void main(String[] args) throws Exception {
    Runnable user =
        () -> {
          Race.work(20_000);
          if (get().value != 42) {
            broken = true;
          }
        };
    Race.iterate(
        args,
        () -> {
          instance = null;
          Race.together(user, user, user);
          return broken ? "an object was used before it was filled in" : null;
        });
  }
}
