package misstep.workloads.upcalls.events;

import jdk.jfr.Event;

/** What events have in common. */
abstract class Above extends Event {
  static final int OWN = Commits.fibonacci(6) + 13;

  long amount;
}
