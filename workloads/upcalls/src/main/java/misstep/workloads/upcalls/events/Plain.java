package misstep.workloads.upcalls.events;

import jdk.jfr.Event;
import jdk.jfr.Name;

/** An event with an initialiser of its own. */
@Name("misstep.Plain")
final class Plain extends Event {
  static final int COUNT = Commits.fibonacci(8);

  int number;
}
