import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.lang.instrument.ClassDefinition;
import java.lang.instrument.Instrumentation;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** Redefines a class again and again, by turns to each of its two versions, while threads are in its methods. */
public final class Redefined {
  private static final int THREADS = 2;
  private static final int DEPTH = 12;
  private static final int LEAST_TIMES = 10;

  private static Instrumentation instrumentation;
  private static volatile boolean stop;

  private Redefined() {}

  /** Called by the JVM: this is also an agent. */
  public static void premain(String unused, Instrumentation given) {
    instrumentation = given;
  }

  static final class Caller extends Thread {
    long calls;
    boolean wrong;

    Caller(int n) {
      super("caller-" + n);
    }

    @Override
    public void run() {
      int expected = RedefinedLeaf.mix(7) + DEPTH;
      while (!stop) {
        wrong |= RedefinedOne.value(7, DEPTH) != expected;
        calls++;
      }
    }
  }

  public static void main(String[] args) throws Exception {
    Span span = new Span(args, 0, 1);
    byte[][] versions = {read("RedefinedOne"), renamed(read("RedefinedTwo"))};
    List<Caller> callers = new ArrayList<>();
    for (int i = 0; i < THREADS; i++) {
      callers.add(new Caller(i));
      callers.get(i).start();
    }
    int times = 0;
    while (times < LEAST_TIMES || !span.over()) {
      times++;
      instrumentation.redefineClasses(
          new ClassDefinition(RedefinedOne.class, versions[times % versions.length]));
      Thread.sleep(times % 4 * 5);
    }
    stop = true;
    long calls = 0;
    for (Caller caller : callers) {
      caller.join();
      calls += caller.calls;
      if (caller.wrong) {
        System.exit(3);
      }
    }
    System.out.println("redefined: verified " + calls + " calls, " + times + " times");
  }

  /** The names have the same length. */
  private static byte[] renamed(byte[] file) {
    String text = new String(file, StandardCharsets.ISO_8859_1);
    return text.replace("RedefinedTwo", "RedefinedOne").getBytes(StandardCharsets.ISO_8859_1);
  }

  private static byte[] read(String name) throws IOException {
    try (InputStream in = Redefined.class.getResourceAsStream(name + ".class")) {
      ByteArrayOutputStream all = new ByteArrayOutputStream();
      for (int b = in.read(); b >= 0; b = in.read()) {
        all.write(b);
      }
      return all.toByteArray();
    }
  }
}
