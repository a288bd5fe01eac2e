package misstep.workloads.hangs.fresh;

import java.util.function.IntSupplier;

/** Its initialiser needs its superclass only. */
public class Right extends Base implements IntSupplier {
  static final int VALUE = BASE + Integer.parseInt("4");

  @Override
  public int getAsInt() {
    return VALUE;
  }
}
