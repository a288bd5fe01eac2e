package misstep.workloads.upcalls.events;

import java.util.function.LongSupplier;

/**
 * Creates and commits events, and adds their initialisers' results: three times the 8th Fibonacci
 * number, 21.
 */
public final class Commits implements LongSupplier {
  /** Needs no initialiser. */
  public Commits() {}

  @Override
  public long getAsLong() {
    for (int i = 0; i < 20; i++) {
      Plain plain = new Plain();
      plain.begin();
      plain.number = i;
      plain.commit();
      Below below = new Below();
      below.text = "below";
      below.amount = i;
      if (below.shouldCommit()) {
        below.commit();
      }
    }
    return Plain.COUNT + Below.COUNT + Above.OWN;
  }

  static int fibonacci(int n) {
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
  }
}
