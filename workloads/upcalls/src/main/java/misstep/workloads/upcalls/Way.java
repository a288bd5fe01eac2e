package misstep.workloads.upcalls;

/** Does one of several things, by number. Fresh classes implement it. */
public interface Way {
  /**
   * Does one thing.
   *
   * @param number of the thing
   * @return what came of it
   */
  Object go(int number);
}
