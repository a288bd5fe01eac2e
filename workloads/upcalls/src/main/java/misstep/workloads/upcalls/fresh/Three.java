package misstep.workloads.upcalls.fresh;

import misstep.workloads.upcalls.Numbered;

/** A provider of the service. */
public final class Three implements Numbered {
  /** Called by {@code ServiceLoader}. */
  public Three() {}

  @Override
  public int number() {
    return 3;
  }
}
