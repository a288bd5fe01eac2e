package misstep.agent.instrument;

import java.util.ArrayList;
import java.util.List;

/**
 * A runtime in plain Java for tests: like the real one, and it can compare itself with the JVM's
 * own view of the stack at every push. Of this thread only.
 */
public final class Shadow {
  static final String NAME = "misstep/agent/instrument/Shadow";

  /** Hears of every push. */
  interface Observer {
    /** Called with the ids on the shadow, the pushed one last. */
    void pushed(List<Integer> ids);
  }

  private static final class State {
    final List<Integer> ids = new ArrayList<>();
    Observer observer;
    boolean observing;
    long pushes;
    long pops;
    int deepest;
  }

  private static final ThreadLocal<State> STATE = ThreadLocal.withInitial(State::new);

  private Shadow() {}

  /** What instrumented code calls first. */
  public static long enter(int id) {
    State state = STATE.get();
    long old = state.ids.size() + 1L; // never 0
    state.ids.add(id);
    state.pushes++;
    state.deepest = Math.max(state.deepest, state.ids.size());
    if (state.observer != null && !state.observing) {
      state.observing = true;
      try {
        state.observer.pushed(List.copyOf(state.ids));
      } finally {
        state.observing = false;
      }
    }
    return old;
  }

  /** What instrumented code calls last. */
  public static void exit(long old) {
    State state = STATE.get();
    state.pops++;
    int size = (int) old - 1;
    if (size > state.ids.size()) {
      throw new AssertionError("pops to " + size + " from " + state.ids.size());
    }
    while (state.ids.size() > size) {
      state.ids.remove(state.ids.size() - 1);
    }
  }

  static void observe(Observer observer) {
    STATE.get().observer = observer;
  }

  static List<Integer> ids() {
    return List.copyOf(STATE.get().ids);
  }

  static long pushes() {
    return STATE.get().pushes;
  }

  static long pops() {
    return STATE.get().pops;
  }

  static int deepest() {
    return STATE.get().deepest;
  }

  static void reset() {
    STATE.remove();
  }
}
