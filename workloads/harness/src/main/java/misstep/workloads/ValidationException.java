package misstep.workloads;

/** Reports that a workload computed a wrong result. */
public final class ValidationException extends Exception {
  private static final long serialVersionUID = 1L;

  /**
   * Creates an exception.
   *
   * @param message what is wrong, in one line, with both values
   */
  public ValidationException(String message) {
    super(message);
  }

  /**
   * Checks that two numbers are equal.
   *
   * @param what the number is, for the message
   * @param expected value
   * @param actual value
   * @throws ValidationException when they differ
   */
  public static void equal(String what, long expected, long actual) throws ValidationException {
    if (expected != actual) {
      throw new ValidationException(what + ": expected " + expected + ", got " + actual);
    }
  }

  /**
   * Checks that two strings are equal.
   *
   * @param what the string is, for the message
   * @param expected value
   * @param actual value
   * @throws ValidationException when they differ
   */
  public static void equal(String what, String expected, String actual) throws ValidationException {
    if (!expected.equals(actual)) {
      throw new ValidationException(what + ": expected " + expected + ", got " + actual);
    }
  }
}
