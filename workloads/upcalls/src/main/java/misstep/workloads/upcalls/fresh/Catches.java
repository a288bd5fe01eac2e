package misstep.workloads.upcalls.fresh;

import misstep.workloads.upcalls.Way;

/** Has a handler for the missing class, which the verifier loads. */
public final class Catches implements Way {
  /** Needs nothing. */
  public Catches() {}

  @Override
  public Object go(int number) {
    try {
      throw new IllegalStateException("way " + number);
    } catch (Missing e) {
      return e;
    }
  }
}
