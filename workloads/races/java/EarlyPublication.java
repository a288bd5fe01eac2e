/** A configuration is published before it is filled from a file. */
final class EarlyPublication {
  private static volatile int[] config;
  private static volatile boolean empty;

  private EarlyPublication() {}

  public static void main(String[] args) throws Exception {
    Race.periodic(
        args,
        () -> {
          config = null;
          Race.together(
              () -> {
                Race.pause(0.2);
                int[] fresh = new int[1];
                if (!Race.fixed) {
                  config = fresh;
                }
                Race.gap(0.1); // the reader comes over 7 ms later
                fresh[0] = 1;
                config = fresh;
              },
              () -> {
                Race.pause(8);
                int[] seen = config;
                empty |= seen != null && seen[0] == 0;
              });
          return empty ? "an empty configuration was read" : null;
        });
  }
}
