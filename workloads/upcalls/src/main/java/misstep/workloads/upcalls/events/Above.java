package misstep.workloads.upcalls.events;

import jdk.jfr.Event;

/** The superclass of the events. */
abstract class Above extends Event {
  static final int OWN = Commits.fibonacci(6) + 13;

  long amount;
}
