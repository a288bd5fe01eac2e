import java.nio.file.Path;
import java.util.List;
import jdk.jfr.EventSettings;
import jdk.jfr.Recording;
import one.profiler.AsyncProfiler;

/**
 * Computes while profilers start and stop one after the other. Arguments: seconds of each, a folder for the recordings 0.jfr,
 * 1.jfr, ..., and what profiles: "jfr" or the path of async-profiler's library.
 */
public final class Recorded {
  static volatile boolean done;
  static volatile long sum;

  static long fib(long n) {
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
  }

  static void compute() {
    while (!done) {
      sum += fib(18);
    }
  }

  static void record(long millis, Path file) throws Exception {
    try (Recording recording = new Recording()) {
      recording.enable("jdk.ExecutionSample").with("period", "1 ms");
      EventSettings cpu = recording.enable("jdk.CPUTimeSample"); // unknown before 25, and ignored
      cpu.with("throttle", "1 ms");
      recording.start();
      Thread.sleep(millis);
      recording.stop();
      recording.dump(file);
    }
  }

  static void profile(String library, long millis, Path file) throws Exception {
    AsyncProfiler.execute(library, "start,event=ctimer,interval=1ms,jfr,file=" + file);
    Thread.sleep(millis);
    AsyncProfiler.execute(library, "stop,file=" + file);
  }

  public static void main(String[] args) throws Exception {
    long millis = (long) (Double.parseDouble(args[0]) * 1e3);
    Thread computes = new Thread(Recorded::compute, "computes");
    computes.start();
    int number = 0;
    for (String profiler : List.of(args).subList(2, args.length)) {
      Path file = Path.of(args[1], number++ + ".jfr");
      if (profiler.equals("jfr")) {
        record(millis, file);
      } else {
        profile(profiler, millis, file);
      }
      Thread.sleep(300);
    }
    done = true;
    computes.join();
    System.out.println("recorded: " + number);
  }
}
