package misstep.workloads.upcalls;

/** Does one of several things, by number. Fresh classes implement it. */
public interface Way {
  /**
   * Does one thing.
   *
   * @param number of the thing
   * @return the result
   */
  Object go(int number);
}
