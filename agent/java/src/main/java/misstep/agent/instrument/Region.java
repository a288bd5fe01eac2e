package misstep.agent.instrument;

/**
 * Where in a method the push has been done, as the method's code is visited from front to back.
 * Shared by the visitors of one method. In all methods but constructors that is everything after
 * the push; in constructors code before the call of super() or this() may also lie behind it.
 */
final class Region {
  /** Which of the class's instrumented methods this is, from 0. */
  final int index;

  /** Local slot of the saved top: the first that the original code does not use. */
  final int slot;

  /** True while the instructions visited run only after the push. */
  boolean pushed;

  /** True if the push was emitted. */
  boolean instrumented;

  /** True if a rule leaves the method unchanged. */
  boolean excluded;

  /** Why the method is left unchanged without a rule; null if it is not. */
  String why;

  Region(int index, int slot) {
    this.index = index;
    this.slot = slot;
  }
}
