package misstep.workloads.hangs.fresh;

import java.util.function.IntSupplier;

/** Its initialiser needs both of the others, and a lambda. */
public class Both implements IntSupplier {
  static final int VALUE = ((IntSupplier) () -> Left.VALUE + Right.VALUE).getAsInt();

  @Override
  public int getAsInt() {
    return VALUE;
  }
}
