package misstep.workloads.upcalls;

/** A piece of work whose count is known beforehand. Three threads run it at once, so it shares nothing. */
@FunctionalInterface
interface Part {
  /**
   * Does the work once.
   *
   * @param seed that may change what is done, never the count
   * @return the count
   * @throws Exception when it could not be done
   */
  long run(long seed) throws Exception;
}
