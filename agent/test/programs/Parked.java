/** The thread {@code parked} waits in one system call. */
public final class Parked {
  public static void main(String[] args) throws Exception {
    long millis = (long) (Double.parseDouble(args[0]) * 1e3);
    Thread parked =
        new Thread(
            () -> {
              try {
                Thread.sleep(millis);
              } catch (InterruptedException e) {
                throw new IllegalStateException(e);
              }
            },
            "parked");
    parked.start();
    parked.join();
    System.out.println("parked: verified");
  }
}
