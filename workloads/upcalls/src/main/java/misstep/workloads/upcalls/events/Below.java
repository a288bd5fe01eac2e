package misstep.workloads.upcalls.events;

import jdk.jfr.Name;

/** An event with a superclass, each with an initialiser. */
@Name("misstep.Below")
final class Below extends Above {
  static final int COUNT = Commits.fibonacci(7) + 8;

  String text;
}
