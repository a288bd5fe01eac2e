/** A volatile counter is read and written back: another thread's increment in between is lost. */
final class LostUpdate {
  private static volatile int n;

  private LostUpdate() {}

  public static void main(String[] args) throws Exception {
    Runnable increments =
        () -> {
          for (int i = 0; i < 10; i++) {
            Race.work(8_000);
            int seen = n;
            Race.window();
            n = seen + 1;
          }
        };
    Race.iterate(
        args,
        () -> {
          n = 0;
          Race.together(increments, increments);
          return n == 20 ? null : "an increment is lost";
        });
  }
}
