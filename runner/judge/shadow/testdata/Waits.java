import java.io.InputStream;
import java.net.ServerSocket;
import java.net.Socket;

/** Threads that wait in native code, below ten calls, while the main thread computes. */
public class Waits {
  private static volatile long sum;

  private static int read(int calls, InputStream in) throws Exception {
    return calls == 0 ? in.read() : next(calls - 1, in) + 1;
  }

  private static int next(int calls, InputStream in) throws Exception {
    return read(calls, in);
  }

  private static long step(long value) {
    return value * 31 + 7;
  }

  public static void main(String[] arguments) throws Exception {
    ServerSocket server = new ServerSocket(0);
    for (int i = 0; i < 4; i++) {
      Socket client = new Socket("localhost", server.getLocalPort());
      Socket accepted = server.accept();
      Thread reader =
          new Thread(
              () -> {
                try {
                  read(10, accepted.getInputStream());
                } catch (Exception e) {
                  e.printStackTrace();
                }
              },
              "waits-" + client.getPort());
      reader.setDaemon(true);
      reader.start();
    }
    long end = System.nanoTime() + Long.parseLong(arguments[0]) * 1_000_000L;
    while (System.nanoTime() < end) {
      sum = step(sum);
    }
  }
}
