package misstep.workloads;

import java.nio.file.Path;

/** A workload is a program that repeats the same work and knows the right result. */
@FunctionalInterface
public interface Workload {
  /**
   * Does the work once and verifies its result.
   *
   * @param index 0 for the first repetition in this JVM
   * @param scratch an empty folder for files; the harness removes it afterwards
   * @throws ValidationException when the result is wrong
   * @throws Exception when the work could not be done; also a failure
   */
  void repetition(int index, Path scratch) throws Exception;
}
