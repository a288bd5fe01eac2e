package misstep.workloads.upcalls;

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;

/** Has defaults. */
@Retention(RetentionPolicy.RUNTIME)
public @interface Marked {
  /**
   * Returns a string.
   *
   * @return the string
   */
  String text() default "default";

  /**
   * Returns numbers.
   *
   * @return the numbers
   */
  int[] numbers() default {1, 2, 3};
}
