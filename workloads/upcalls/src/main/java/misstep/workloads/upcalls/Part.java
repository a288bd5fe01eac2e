package misstep.workloads.upcalls;

/** Work with a known count. Three threads run it at once, so it shares nothing. */
@FunctionalInterface
interface Part {
  /**
   * Does the work once.
   *
   * @param seed may change what is done, never the count
   * @return the count
   * @throws Exception when it could not be done
   */
  long run(long seed) throws Exception;
}
