import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Works for some milliseconds, and ends as its arguments say: MILLIS, then exit CODE, echo, crash
 * or wait; works says that it works, and again, with further arguments, that they are those of
 * another JVM with the options of this one.
 */
public class Program {
  static long fib(int n) {
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
  }

  static long leaf(long n) {
    return n < 0 ? -n : n;
  }

  static long forward(long n) {
    return leaf(n);
  }

  public static void main(String[] args) throws Exception {
    long end = System.nanoTime() + Long.parseLong(args[0]) * 1000000;
    long sum = 0;
    if (args[1].equals("works")) {
      System.out.println("works");
    }
    while (System.nanoTime() < end) {
      sum += fib(18) + new ArrayList<>(Arrays.asList(args)).hashCode();
      sum = forward(sum);
    }
    System.out.println("worked " + (sum != 0));
    System.err.println("on stderr");
    switch (args[1]) {
      case "exit":
        System.exit(Integer.parseInt(args[2]));
        break;
      case "echo":
        for (int c; (c = System.in.read()) >= 0; ) {
          System.out.write(c);
        }
        System.out.flush();
        break;
      case "again":
        List<String> command = new ArrayList<>();
        command.add(System.getProperty("java.home") + "/bin/java");
        command.addAll(ManagementFactory.getRuntimeMXBean().getInputArguments());
        command.addAll(Arrays.asList("-cp", System.getProperty("java.class.path"), "Program"));
        command.add(args[0]);
        command.addAll(Arrays.asList(args).subList(2, args.length));
        System.exit(new ProcessBuilder(command).inheritIO().start().waitFor());
        break;
      case "crash":
        java.lang.reflect.Field f = Class.forName("sun.misc.Unsafe").getDeclaredField("theUnsafe");
        f.setAccessible(true);
        ((sun.misc.Unsafe) f.get(null)).putLong(8, 1);
        break;
      default:
        Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println("asked to end")));
        System.out.println("ready");
        Thread.sleep(60000);
    }
  }
}
