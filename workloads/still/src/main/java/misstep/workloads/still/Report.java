package misstep.workloads.still;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.HashMap;
import java.util.Map;

/**
 * Prints what stood when, one line each on stdout (runner/judge/samplers/held.go reads it):
 *
 * <ul>
 *   <li>{@code misstep: stack N CLASS.METHOD:LINE ...}, innermost first, line at most 0 if unknown
 *   <li>{@code misstep: held N THREAD BEGIN END}: the stack stood on the thread of that Java id
 *       from BEGIN to END, in nanoseconds since the epoch; the line of its first frame is not known
 *   <li>{@code misstep: cpu THREAD NANOS}: what the thread used, at its end
 * </ul>
 */
final class Report {
  private final Map<String, Integer> stacks = new HashMap<>();
  private final ThreadMXBean beans = ManagementFactory.getThreadMXBean();
  private final long epoch = epoch();

  /** Nanoseconds since the epoch. */
  long now() {
    return epoch + System.nanoTime();
  }

  /**
   * The epoch's time at nanoTime 0, by a change of the clock that all JDKs have, in milliseconds,
   * that was seen within 50 microseconds; on a machine that is too busy for that by the best of 99.
   */
  private static long epoch() {
    long best = Long.MAX_VALUE;
    long epoch = 0;
    long before = System.nanoTime(); // the change comes after this
    long millis = System.currentTimeMillis();
    for (int changes = 0; changes < 99 && best > 50_000; ) {
      long now = System.nanoTime();
      long next = System.currentTimeMillis();
      if (next != millis) {
        long after = System.nanoTime();
        if (after - before < best) {
          best = after - before;
          epoch = next * 1_000_000 - after;
        }
        millis = next;
        changes++;
      }
      before = now;
    }
    return epoch;
  }

  /** Prints that the calling thread stood. */
  void stood(StackTraceElement[] stack, long begin, long end) {
    StringBuilder line = new StringBuilder();
    for (StackTraceElement f : stack) {
      line.append(' ').append(f.getClassName()).append('.').append(f.getMethodName());
      line.append(':').append(Math.max(0, f.getLineNumber()));
    }
    String text = line.toString();
    synchronized (this) {
      Integer number = stacks.get(text);
      if (number == null) {
        number = stacks.size() + 1;
        stacks.put(text, number);
        System.out.println("misstep: stack " + number + text);
      }
      System.out.println(
          "misstep: held "
              + number
              + ' '
              + Thread.currentThread().getId()
              + ' '
              + begin
              + ' '
              + end);
    }
  }

  /** Prints how much CPU time the calling thread has used. */
  void cpu() {
    long nanos = beans.getCurrentThreadCpuTime();
    System.out.println("misstep: cpu " + Thread.currentThread().getId() + ' ' + nanos);
  }
}
