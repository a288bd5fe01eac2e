import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import sun.misc.Unsafe;

/**
 * Crashes by the cause that the first argument names, in a thread with the name of the second one; the third is the path of the
 * native library.
 */
public final class Crashes {
  static final Unsafe UNSAFE = unsafe();
  static final long WILD = 24;

  private static Unsafe unsafe() {
    try {
      Field field = Unsafe.class.getDeclaredField("theUnsafe");
      field.setAccessible(true);
      return (Unsafe) field.get(null);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException(e);
    }
  }

  public static void main(String[] args) throws Exception {
    String cause = args[0];
    System.load(args[2]);
    Thread t =
        new Thread(
            () -> {
              try {
                run(cause);
              } catch (Exception e) {
                throw new IllegalStateException(e);
              }
            },
            args[1]);
    t.start();
    t.join();
    if (cause.equals("exit")) {
      System.exit(0);
    }
    Thread.sleep(20_000);
  }

  /** Calls a program's method until it is compiled, then with a wild address. */
  interface Access {
    void at(long address) throws Exception;
  }

  static void warm(Access access) throws Exception {
    long good = UNSAFE.allocateMemory(256);
    for (int i = 0; i < 20_000; i++) {
      access.at(good);
    }
    access.at(WILD);
  }

  private static void run(String cause) throws Exception {
    switch (cause) {
      case "post":
        warm(Ledger::post);
        break;
      case "settle":
        warm(Ledger::settle);
        break;
      case "probe":
        warm(Index::probe);
        break;
      case "copy":
        warm(Pages::copy);
        break;
      case "wipe":
        warm(Pages::wipe);
        break;
      case "swap":
        warm(Index::swap);
        break;
      case "plugin":
        Method m = Ledger.class.getDeclaredMethod("apply", long.class);
        warm(a -> m.invoke(null, a));
        break;
      case "drain":
        warm(Pages::drain);
        break;
      case "grow":
        Index.grow(3 + (int) (System.nanoTime() % 9));
        break;
      case "pooled":
        ExecutorService pool = Executors.newFixedThreadPool(4);
        for (int i = 0; i < 4; i++) {
          pool.submit(() -> Pages.flush(WILD));
        }
        break;
      case "virtual":
        Thread.class
            .getMethod("startVirtualThread", Runnable.class)
            .invoke(null, (Runnable) () -> Index.spill(WILD));
        break;
      case "klass":
        Object[] some = new Object[1000];
        for (int i = 0; i < some.length; i++) {
          some[i] = new Object();
          UNSAFE.putInt(some[i], 8L, 0x6abcde01);
        }
        System.gc();
        break;
      case "reference":
        Broken[] broken = new Broken[1000];
        long offset = UNSAFE.objectFieldOffset(Broken.class.getDeclaredField("next"));
        for (int i = 0; i < broken.length; i++) {
          broken[i] = new Broken();
          UNSAFE.putInt(broken[i], offset, 0x01234567);
        }
        System.gc();
        break;
      case "memory":
        List<byte[]> all = new ArrayList<>();
        while (true) {
          all.add(new byte[1 << 20]);
        }
      case "saw-ledger":
        Ledger.reject();
        break;
      case "saw-index":
        Index.reject();
        break;
      case "walk-other":
      case "walk-broken":
        Vault.walkOther(sleeper(cause.equals("walk-broken")));
        break;
      case "finalize":
        new Vault.Handle();
        for (int i = 0; i < 50; i++) {
          System.gc();
          System.runFinalization();
        }
        break;
      default:
        if (cause.startsWith("kill:")) {
          Vault.kill(cause.substring(5));
        } else {
          Vault.class.getDeclaredMethod(cause).invoke(null);
        }
    }
  }

  private static Thread sleeper(boolean broken) throws InterruptedException {
    CountDownLatch ready = new CountDownLatch(1);
    Thread t =
        new Thread(
            () -> {
              ready.countDown();
              Vault.pause(broken);
            });
    t.start();
    ready.await();
    Thread.sleep(200);
    return t;
  }
}
