package misstep.agent.instrument;

/** The names that instrumented code calls. */
final class Runtime {
  static final String ENTER = "enter";
  static final String ENTER_DESCRIPTOR = "(I)J";
  static final String EXIT = "exit";
  static final String EXIT_DESCRIPTOR = "(J)V";

  private Runtime() {}
}
