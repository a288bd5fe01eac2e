package misstep.agent;

import java.io.IOException;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;

/**
 * Takes the stack traces of all threads by {@link Thread#getAllStackTraces} at an interval, as
 * simple profilers do, and writes them to a file of bounded size (agent/stacks.go has its format).
 * The JVM walks all stacks at one safepoint, so that a trace is the thread's of an instant between
 * the two times of its round.
 *
 * <p>A thread whose CPU time is the same after two rounds has not run in between: its stack was
 * one. Once that is so, the JVM is asked for it a second time, by JVMTI, whose walk is another one.
 *
 * <p>A round that takes longer than the interval is followed by the next one at once; those that it
 * missed are not made up for. Virtual threads are not among the threads.
 *
 * <p>It ends when the JVM begins to. From JDK 26 on (JDK-8366865) a thread that needs a collection
 * once the heap has been stopped waits for ever; a dump holds the list of all threads until it is
 * complete, and the JVM's end waits for that list (reports/MISSTEP-dump-at-exit).
 */
final class StackSampler extends Thread {
  /** Name of the file in the agent's folder. */
  static final String FILE = "stacks.bin";

  /** Name of this thread, which is not among those that it samples. */
  static final String NAME = "misstep-stacks";

  private static final int MOST_FRAMES = 1 << 20;
  private static final int MOST_THREADS = 1 << 16;

  /** Threads that are asked for a second time, in a round: a bound to what it costs. */
  private static final int MOST_ASKED = 8;

  /** Milliseconds for which the JVM's end waits for the last round. */
  private static final long LAST_ROUND = 10_000;

  private final long interval;
  private final StackFile file;
  private final Map<StackTraceElement, Integer> frames = new HashMap<>();
  private final Map<Thread, Known> threads = new HashMap<>();
  private int seen;
  private int round;
  private volatile boolean ending;

  /** Ends the sampling; no check observes it, nor is it among the threads that are sampled. */
  private final Thread hook =
      new Thread(NAME + "-end") {
        @Override
        public void run() {
          Native.leaveAlone(this);
          end();
        }
      };

  /** A thread with its number in the file and its last trace. */
  private static final class Known {
    final int number;
    StackTraceElement[] last = new StackTraceElement[0];
    int round;
    long cpuNanos;
    boolean stood;
    boolean asked;

    Known(int number) {
      this.number = number;
    }

    /** Takes the CPU time after a round. */
    void ran(long cpuNanos) {
      stood = cpuNanos > 0 && cpuNanos == this.cpuNanos;
      asked = asked && stood;
      this.cpuNanos = cpuNanos;
    }
  }

  /**
   * Creates the file.
   *
   * @param interval nanoseconds from the begin of a round to that of the next
   */
  StackSampler(String path, long interval) throws IOException {
    super(NAME);
    this.interval = interval;
    file = new StackFile(path);
    setDaemon(true);
    Runtime.getRuntime().addShutdownHook(hook);
  }

  /** Makes the round that is under way the last one, and waits for it. */
  private void end() {
    ending = true;
    LockSupport.unpark(this);
    try {
      join(LAST_ROUND);
    } catch (InterruptedException e) {
      currentThread().interrupt();
    }
  }

  @Override
  public void run() {
    Native.leaveAlone(this);
    try {
      for (long due = System.nanoTime(); sample(); ) {
        due = Math.max(due + interval, System.nanoTime());
        for (long left; !ending && (left = due - System.nanoTime()) > 0; ) {
          LockSupport.parkNanos(left);
        }
        if (ending) {
          return;
        }
      }
      file.end();
    } catch (IOException e) {
      System.err.println("misstep: no more stack traces are taken: " + e.getMessage());
    }
  }

  /** Makes one round; false when the file is full. */
  private boolean sample() throws IOException {
    final long begin = file.now();
    Map<Thread, StackTraceElement[]> all = getAllStackTraces();
    final long end = file.now();
    all.remove(this);
    all.remove(hook);
    round++;
    for (Map.Entry<Thread, StackTraceElement[]> e : all.entrySet()) {
      define(e.getKey(), e.getValue());
    }
    Thread[] sampled = all.keySet().toArray(new Thread[0]);
    final long[] cpuNanos = Native.cpuNanos(sampled);
    for (int i = 0; i < sampled.length; i++) {
      threads.get(sampled[i]).ran(cpuNanos[i]);
    }
    file.number(begin).number(end - begin).number(all.size());
    for (Map.Entry<Thread, StackTraceElement[]> e : all.entrySet()) {
      write(threads.get(e.getKey()), e.getValue());
    }
    boolean room = file.record('R') && askAgain(sampled);
    if (threads.size() > 2 * all.size()) {
      threads.values().removeIf(known -> known.round != round);
    }
    file.flush();
    return room && frames.size() < MOST_FRAMES && seen < MOST_THREADS;
  }

  /** Asks for the stacks of some threads that stand and were not asked for since they do. */
  private boolean askAgain(Thread[] sampled) throws IOException {
    boolean room = true;
    int left = MOST_ASKED;
    for (int i = 0; i < sampled.length && left > 0; i++) {
      Known known = threads.get(sampled[i]);
      if (known.stood && !known.asked) {
        left--;
        known.asked = true;
        room = room && ask(sampled[i], known);
      }
    }
    return room;
  }

  /** Writes a thread's stack by JVMTI, unless the thread has run meanwhile. */
  private boolean ask(Thread thread, Known known) throws IOException {
    final long begin = file.now();
    String[] names = Native.stack(thread);
    final long end = file.now();
    if (names == null || Native.cpuNanos(new Thread[] {thread})[0] != known.cpuNanos) {
      return true;
    }
    StackTraceElement[] trace = new StackTraceElement[names.length / 2];
    for (int i = 0; i < trace.length; i++) {
      trace[i] = new StackTraceElement(names[2 * i], names[2 * i + 1], null, -1);
      define(trace[i]);
    }
    file.number(begin).number(end - begin).number(known.number).number(trace.length);
    for (StackTraceElement f : trace) {
      file.number(frames.get(f));
    }
    return file.record('G');
  }

  private void define(StackTraceElement f) throws IOException {
    if (!frames.containsKey(f)) {
      frames.put(f, frames.size() + 1);
      file.text(f.getClassName()).text(f.getMethodName());
      file.number(Math.max(f.getLineNumber(), 0)).record('F');
    }
  }

  /** Writes what the trace refers to and the file has not yet. */
  private void define(Thread thread, StackTraceElement[] trace) throws IOException {
    Known known = threads.get(thread);
    if (known == null) {
      known = new Known(++seen);
      threads.put(thread, known);
      file.number(thread.getId()).text(thread.getName()).record('H');
    }
    known.round = round;
    if (Arrays.equals(known.last, trace)) {
      return;
    }
    for (StackTraceElement f : trace) {
      define(f);
    }
  }

  /**
   * Writes twice the thread's number, 1 more if it has not run since the round before, and its
   * trace as the number of frames + 1, or 0 for the last one.
   */
  private void write(Known known, StackTraceElement[] trace) {
    file.number(2L * known.number + (known.stood ? 1 : 0));
    if (Arrays.equals(known.last, trace)) {
      file.number(0);
      return;
    }
    file.number(trace.length + 1);
    for (StackTraceElement f : trace) {
      file.number(frames.get(f));
    }
    known.last = trace;
  }
}
