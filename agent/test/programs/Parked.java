/** Waits in one system call. */
public final class Parked {
  public static void main(String[] args) throws Exception {
    Thread.sleep((long) (Double.parseDouble(args[0]) * 1e3));
    System.out.println("parked: verified");
  }
}
