package misstep.workloads.upcalls;

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;

/** Has defaults. */
@Retention(RetentionPolicy.RUNTIME)
public @interface Marked {
  /**
   * Gives a text.
   *
   * @return the text
   */
  String text() default "default";

  /**
   * Gives numbers.
   *
   * @return the numbers
   */
  int[] numbers() default {1, 2, 3};
}
