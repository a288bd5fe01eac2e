package misstep.workloads.hangs.fresh;

import java.util.function.IntSupplier;

/** Its initialiser needs its superclass only. */
public class Left extends Base implements IntSupplier {
  static final int VALUE = BASE + Integer.parseInt("2");

  @Override
  public int getAsInt() {
    return VALUE;
  }
}
