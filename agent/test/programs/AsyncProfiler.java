package one.profiler;

/** The way into async-profiler's library for Java programs, by the names of its own class. */
public final class AsyncProfiler {
  private AsyncProfiler() {}

  /** Executes a command of async-profiler, which its library at path parses, and returns what it says. */
  public static String execute(String path, String command) throws Exception {
    System.load(path);
    return new AsyncProfiler().execute0(command);
  }

  private native String execute0(String command) throws Exception;
}
