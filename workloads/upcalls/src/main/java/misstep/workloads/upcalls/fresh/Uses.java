package misstep.workloads.upcalls.fresh;

import java.util.function.IntSupplier;
import misstep.workloads.upcalls.Way;

/** Refers to the missing class in each way that resolves it. */
public final class Uses implements Way {
  private static final Object OBJECT = "an object";

  /** Needs nothing. */
  public Uses() {}

  @Override
  public Object go(int number) {
    switch (number) {
      case 0:
        return Missing.memberField;
      case 1:
        return Missing.memberCall();
      case 2:
        IntSupplier supplier = Missing::memberCall;
        return supplier.getAsInt();
      case 3:
        return new Missing(7);
      case 4:
        return cast(OBJECT);
      case 5:
        return OBJECT instanceof Missing;
      case 6:
        return Missing.class;
      case 7:
        return new Missing[2];
      case 8:
        return new Missing[2][2];
      default:
        throw new IllegalArgumentException("way " + number);
    }
  }

  private static Object cast(Object object) {
    return (Missing) object;
  }
}
