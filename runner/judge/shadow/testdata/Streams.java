import java.io.File;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.RandomAccessFile;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.StandardOpenOption;

/** Calls what JFR instruments in the JDK. Arguments: a folder, milliseconds. */
public final class Streams {
  private static final byte[] BYTES = new byte[16];

  private Streams() {}

  public static void main(String[] args) throws Exception {
    File file = new File(args[0], "streams");
    long end = System.nanoTime() + Long.parseLong(args[1]) * 1000000;
    InetAddress here = InetAddress.getLoopbackAddress();
    try (FileOutputStream out = new FileOutputStream(file);
        FileInputStream in = new FileInputStream(file);
        RandomAccessFile random = new RandomAccessFile(file, "rw");
        FileChannel channel =
            FileChannel.open(file.toPath(), StandardOpenOption.READ, StandardOpenOption.WRITE);
        ServerSocket server = new ServerSocket(0, 1, here);
        Socket client = new Socket(here, server.getLocalPort());
        Socket accepted = server.accept();
        ServerSocketChannel channels =
            ServerSocketChannel.open().bind(new InetSocketAddress(here, 0));
        SocketChannel one = SocketChannel.open(channels.getLocalAddress());
        SocketChannel other = channels.accept()) {
      int thrown = 0;
      while (System.nanoTime() < end) {
        files(out, in, random, channel);
        sockets(client.getOutputStream(), accepted.getInputStream());
        channels(one, other);
        thrown += exceptions();
      }
      System.out.println("streams: done, " + thrown);
    }
  }

  static void files(OutputStream out, InputStream in, RandomAccessFile random, FileChannel channel)
      throws IOException {
    for (int i = 0; i < 8; i++) {
      out.write(BYTES);
      out.write(i);
      in.read();
      in.read(BYTES);
    }
    random.seek(0);
    random.write(BYTES);
    random.seek(0);
    random.read(BYTES);
    channel.write(ByteBuffer.wrap(BYTES), 0);
    channel.read(ByteBuffer.wrap(BYTES), 0);
  }

  static void sockets(OutputStream out, InputStream in) throws IOException {
    for (int i = 0; i < 8; i++) {
      out.write(BYTES);
      in.read(BYTES);
    }
  }

  static void channels(SocketChannel one, SocketChannel other) throws IOException {
    for (int i = 0; i < 8; i++) {
      one.write(ByteBuffer.wrap(BYTES));
      other.read(ByteBuffer.allocate(BYTES.length));
    }
  }

  static int exceptions() {
    int caught = 0;
    for (int i = 0; i < 8; i++) {
      try {
        if (i % 2 == 0) {
          throw new IOException("expected");
        }
        throw new AssertionError();
      } catch (IOException | AssertionError e) {
        caught++;
      }
    }
    return caught;
  }
}
