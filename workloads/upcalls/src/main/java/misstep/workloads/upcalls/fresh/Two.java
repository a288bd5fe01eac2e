package misstep.workloads.upcalls.fresh;

import misstep.workloads.upcalls.Numbered;

/** A provider of the service. */
public final class Two implements Numbered {
  /** Called by {@code ServiceLoader}. */
  public Two() {}

  @Override
  public int number() {
    return 2;
  }
}
