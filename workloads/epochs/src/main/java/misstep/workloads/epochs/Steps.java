package misstep.workloads.epochs;

/** What the fresh classes do. */
public interface Steps {
  /**
   * Does some steps.
   *
   * @param steps to do
   * @param half is run in the middle, below frames of the fresh class
   * @return the steps that were done
   */
  long run(int steps, Runnable half);
}
