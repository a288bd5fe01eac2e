package misstep.workloads.hangs;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.Callable;
import misstep.workloads.Harness;
import misstep.workloads.Workload;

/**
 * Does what JVMs have hung in, over and over: a JVM that works ends after a second or two, so that
 * a trial which does not end is a hang of the JVM.
 */
public final class Main {
  private Main() {}

  /**
   * Runs the workload.
   *
   * @param args part, or all for all of them at once; rounds; seed
   */
  public static void main(String[] args) {
    Map<String, Part> parts = parts();
    String name = args.length == 0 ? "all" : args[0];
    if (!name.equals("all")) {
      if (!parts.containsKey(name)) {
        throw new IllegalArgumentException(
            "unknown part '" + name + "': want all or one of " + parts.keySet());
      }
      parts.keySet().retainAll(java.util.Set.of(name));
    }
    Harness.run(new Rounds(parts, Harness.argument(args, 1, 30), Harness.argument(args, 2, 7)));
  }

  private static Map<String, Part> parts() {
    Map<String, Part> parts = new LinkedHashMap<>();
    parts.put("safepoints", new Safepoints());
    parts.put("exits", new Exits());
    parts.put("initialisers", new Initialisers());
    parts.put("attach", new Attach());
    parts.put("recordings", new Recordings());
    parts.put("signals", new Signals());
    return parts;
  }

  private static final class Rounds implements Workload {
    private final Map<String, Part> parts;
    private final int rounds;
    private final long seed;

    Rounds(Map<String, Part> parts, int rounds, long seed) {
      this.parts = parts;
      this.rounds = rounds;
      this.seed = seed;
    }

    @Override
    public void repetition(int index, Path scratch) throws Exception {
      Threads threads = new Threads();
      for (Map.Entry<String, Part> entry : parts.entrySet()) {
        Path own = Files.createDirectory(scratch.resolve(entry.getKey()));
        Random random = new Random(seed + index);
        Callable<Void> all =
            () -> {
              for (int i = 0; i < rounds; i++) {
                entry.getValue().round(random, own);
              }
              return null;
            };
        threads.start(entry.getKey(), all);
      }
      threads.join();
    }
  }
}
