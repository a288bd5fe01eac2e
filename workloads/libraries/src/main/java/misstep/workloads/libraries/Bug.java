package misstep.workloads.libraries;

/** A known bug of a library, as a program of two threads that meet it in a rare interleaving. */
interface Bug {
  /**
   * Lets the threads meet once.
   *
   * @return what went wrong, null if nothing did
   * @throws Exception that the library throws, which is the bug's as well
   */
  String round() throws Exception;
}
