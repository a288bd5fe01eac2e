package misstep.workloads.upcalls.fresh;

import java.util.function.Function;
import java.util.function.IntFunction;
import java.util.function.IntSupplier;
import java.util.function.Supplier;
import misstep.workloads.upcalls.Way;

/** Call sites of many kinds; each returns its number as a string. */
public final class Sites implements Way {
  private final int own;

  /** Needs nothing. */
  public Sites() {
    this(5);
  }

  private Sites(int own) {
    this.own = own;
  }

  @Override
  public Object go(int number) {
    switch (number) {
      case 0:
        Supplier<String> constant = () -> "0";
        return constant.get();
      case 1:
        Supplier<String> captured = () -> Integer.toString(number);
        return captured.get();
      case 2:
        IntFunction<String> reference = Integer::toString;
        return reference.apply(number);
      case 3:
        Function<Integer, Sites> maker = Sites::new;
        return Integer.toString(maker.apply(number).own);
      case 4:
        return ("" + number + 'x' + 1.5f + 2L + own).substring(0, 1);
      case 5:
        IntSupplier bound = this::own;
        return String.valueOf(bound.getAsInt());
      case 6:
        IntFunction<int[]> arrays = int[]::new;
        return "" + arrays.apply(number).length;
      case 7:
        Supplier<String> both = (Supplier<String> & java.io.Serializable) () -> "" + number;
        return both.get();
      default:
        throw new IllegalArgumentException("site " + number);
    }
  }

  private int own() {
    return own;
  }
}
