package misstep.workloads.upcalls;

/** A service whose providers are fresh classes. */
public interface Numbered {
  /**
   * Returns the number.
   *
   * @return the number of the provider
   */
  int number();
}
