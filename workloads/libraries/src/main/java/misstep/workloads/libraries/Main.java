package misstep.workloads.libraries;

import java.nio.file.Path;
import misstep.workloads.Harness;
import misstep.workloads.ValidationException;
import misstep.workloads.Workload;

/** Runs the program of one bug, round after round, until the bug shows. */
public final class Main {
  private Main() {}

  /**
   * Runs the workload.
   *
   * @param args name of the bug, rounds of a repetition, seconds after which a thread hangs
   */
  public static void main(String[] args) {
    Bug bug = bug(args.length == 0 ? "" : args[0]);
    int rounds = Harness.argument(args, 1, 2000);
    Pair.hangSeconds(Harness.argument(args, 2, 10));
    Harness.run(
        new Workload() {
          @Override
          public void repetition(int index, Path scratch) throws Exception {
            for (int i = 0; i < rounds; i++) {
              String wrong = bug.round();
              if (wrong != null) {
                throw new ValidationException("bug in round " + i + ": " + wrong);
              }
            }
          }
        });
  }

  private static Bug bug(String name) {
    switch (name) {
      case "lang-hash":
        return new LangHash();
      case "pool-clear":
        return new PoolClear();
      case "pool2-invalidate":
        return new Pool2Invalidate();
      case "disruptor-halt":
        return new DisruptorHalt();
      case "log4j-render":
        return new Log4jRender();
      case "gson-cycle":
        return new GsonCycle();
      default:
        throw new IllegalArgumentException(
            "unknown bug '"
                + name
                + "': want lang-hash, pool-clear, pool2-invalidate, disruptor-halt, log4j-render"
                + " or gson-cycle");
    }
  }
}
