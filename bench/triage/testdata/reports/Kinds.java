import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;

/** Hangs in classes that are generated, that are initialised, and of virtual threads that get no carrier. */
final class Kinds {
  private Kinds() {}

  private static final CountDownLatch NEVER = new CountDownLatch(1);
  private static final Object LOCK = new Object();

  static void nap(long millis) throws InterruptedException {
    Thread.sleep(millis);
  }

  static boolean hang(String cause) throws Exception {
    long number = Hangs.random.nextLong() >>> 2 | 1L << 61;
    String hash = Integer.toHexString((int) number);
    switch (cause) {
      case "generated-number":
        generated("shop/gen/Class" + number);
        break;
      case "generated-cglib":
        generated(
            "shop/Till$$EnhancerBySpringCGLIB$$" + hash + "$$FastClassBySpringCGLIB$$1" + hash);
        break;
      case "generated-rule":
        generated("shop/Rule_Discount" + (10_000 + Hangs.random.nextInt(90_000)));
        break;
      case "generated-buddy":
        generated("shop/Order$HibernateProxy$" + Long.toString(number, 36).substring(0, 8));
        break;
      case "generated-javassist":
        generated("shop/Customer_$$_jvst" + hash.substring(0, 3) + "_" + Hangs.random.nextInt(20));
        break;
      case "generated-hash":
        generated("shop/Query_" + Long.toHexString(number));
        break;
      case "generated-inner":
        generated("shop/Plan" + number + "$Step");
        break;
      default:
        return cause.startsWith("class-") ? initialise(cause) : carriers(cause);
    }
    return true;
  }

  /** Classes in which a thread waits that another one needs. */
  private static boolean initialise(String cause) throws Exception {
    switch (cause) {
      case "class-sleep":
        others(Settings::read, 1 + Hangs.random.nextInt(4));
        break;
      case "class-latch":
        others(Registry::find, 1 + Hangs.random.nextInt(4));
        break;
      case "class-loop":
        others(Tables::load, 1 + Hangs.random.nextInt(4));
        break;
      case "class-three":
        Hangs.start("first", Ring1::go);
        Hangs.start("second", Ring2::go);
        Hangs.start("third", Ring3::go);
        break;
      case "class-super":
        Hangs.start("base", Shape::draw);
        nap(200);
        Hangs.start("derived", Circle::draw);
        break;
      case "class-lock":
        Hangs.start("holder", Kinds::lockFirst);
        nap(200);
        Hangs.start("initialiser", Audit::log);
        break;
      default:
        return false;
    }
    return true;
  }

  private static void others(Hangs.Task use, int number) throws Exception {
    Hangs.start("initialiser", use);
    nap(300);
    for (int i = 0; i < number; i++) {
      Hangs.start("needs", use);
    }
  }

  static void lockFirst() throws Exception {
    synchronized (LOCK) {
      nap(400);
      Audit.log();
    }
  }

  /** What keeps both carriers while other virtual threads could run. */
  private static boolean carriers(String cause) throws Exception {
    switch (cause) {
      case "carriers-pinned":
        virtual(PinA::go);
        virtual(PinB::go);
        break;
      case "carriers-busy":
        virtual(Kinds::churn);
        virtual(Kinds::churn);
        break;
      case "carriers-native":
        for (int i = 0; i < 2; i++) {
          virtual(() -> Kinds.class.getDeclaredMethod("callback").invoke(null));
        }
        break;
      case "carriers-mixed":
        virtual(PinC::go);
        virtual(Kinds::digest);
        break;
      case "carriers-free":
        virtual(PinD::go);
        break;
      default:
        return false;
    }
    nap(500);
    for (int i = 0; i < 3; i++) {
      virtual(Kinds::request);
    }
    return true;
  }

  static void request() throws InterruptedException {
    NEVER.await();
  }

  static void callback() throws InterruptedException {
    NEVER.await();
  }

  static void hold() {
    LockSupport.park(LOCK);
    hold();
  }

  @SuppressWarnings("InfiniteLoopStatement")
  static void churn() {
    for (long n = 0; ; n++) {
      work(n);
    }
  }

  @SuppressWarnings("InfiniteLoopStatement")
  static void digest() {
    for (long n = 0; ; n++) {
      work(n);
    }
  }

  static volatile long sum;

  static void work(long n) {
    sum += n;
  }

  private static void virtual(Hangs.Task task) throws Exception {
    Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, task);
  }

  static class Settings {
    static {
      pause();
    }

    static void pause() {
      try {
        nap(100_000_000);
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
    }

    static void read() {}
  }

  static class Registry {
    static {
      scan();
    }

    static void scan() {
      try {
        NEVER.await();
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
    }

    static void find() {}
  }

  static class Tables {
    static final long ROWS = fill();

    static long fill() {
      long n = 0;
      while (sum >= 0) {
        work(n++);
      }
      return n;
    }

    static void load() {}
  }

  static class Ring1 {
    static {
      late();
      Ring2.go();
    }

    static void go() {}
  }

  static class Ring2 {
    static {
      late();
      Ring3.go();
    }

    static void go() {}
  }

  static class Ring3 {
    static {
      late();
      Ring1.go();
    }

    static void go() {}
  }

  static void late() {
    try {
      nap(250);
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  static class Shape {
    static {
      late();
      late();
      Circle.draw();
    }

    static void draw() {}
  }

  static class Circle extends Shape {
    static {
      late();
    }

    static void draw() {}
  }

  static class Audit {
    static {
      synchronized (LOCK) {
        late();
      }
    }

    static void log() {}
  }

  static class PinA {
    static {
      hold();
    }

    static void go() {}
  }

  static class PinB {
    static {
      hold();
    }

    static void go() {}
  }

  static class PinC {
    static {
      hold();
    }

    static void go() {}
  }

  static class PinD {
    static {
      hold();
    }

    static void go() {}
  }

  /** Defines classes. */
  private static final class Loader extends ClassLoader {
    Class<?> define(String name, byte[] file) {
      return defineClass(name.replace('/', '.'), file, 0, file.length);
    }
  }

  /** Starts a thread that waits in the method run of a class with that name. */
  private static void generated(String name) throws Exception {
    Class<?> made = new Loader().define(name, classFile(name));
    Hangs.start(
        "generated",
        () -> {
          while (true) {
            made.getMethod("run").invoke(null);
          }
        });
  }

  /** Returns the class file of a class with the method run, which calls LockSupport.park(). */
  private static byte[] classFile(String name) throws Exception {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    DataOutputStream out = new DataOutputStream(bytes);
    out.writeInt(0xCAFEBABE);
    out.writeInt(49); // of Java 5, which needs no stack maps
    out.writeShort(13);
    text(out, name); // 1
    reference(out, 7, 1); // 2
    text(out, "java/lang/Object"); // 3
    reference(out, 7, 3); // 4
    text(out, "run"); // 5
    text(out, "()V"); // 6
    text(out, "Code"); // 7
    text(out, "java/util/concurrent/locks/LockSupport"); // 8
    reference(out, 7, 8); // 9
    text(out, "park"); // 10
    reference(out, 12, 10, 6); // 11
    reference(out, 10, 9, 11); // 12
    for (int value :
        new int[] {
          0x21, 2, 4, 0, 0, 1
        }) { // public, this class, its superclass, no fields, one method
      out.writeShort(value);
    }
    for (int value :
        new int[] {9, 5, 6, 1, 7}) { // public static run()V with one attribute, its code
      out.writeShort(value);
    }
    out.writeInt(16);
    out.writeInt(0); // neither a stack nor locals
    out.writeInt(4);
    out.write(new byte[] {(byte) 0xb8, 0, 12, (byte) 0xb1}); // invokestatic, return
    for (int i = 0; i < 3; i++) {
      out.writeShort(0);
    }
    return bytes.toByteArray();
  }

  private static void text(DataOutputStream out, String value) throws Exception {
    out.writeByte(1);
    out.writeUTF(value);
  }

  private static void reference(DataOutputStream out, int tag, int... indices) throws Exception {
    out.writeByte(tag);
    for (int index : indices) {
      out.writeShort(index);
    }
  }
}
