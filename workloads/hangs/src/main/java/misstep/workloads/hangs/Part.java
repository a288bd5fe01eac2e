package misstep.workloads.hangs;

import java.nio.file.Path;
import java.util.Random;

/**
 * One kind of work that JVMs have hung in, without any wait of its own that could last for ever.
 */
@FunctionalInterface
interface Part {
  /**
   * Does the work once, some milliseconds long.
   *
   * @param random to draw from
   * @param scratch own folder
   * @throws Exception when it could not be done, or its result is wrong
   */
  void round(Random random, Path scratch) throws Exception;
}
