package misstep.workloads.still;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.Random;
import misstep.workloads.ValidationException;

/**
 * A stack of a given height, whose levels call the next one in different ways: statically, by an
 * interface with several implementations, in a constructor, in a monitor, by reflection, by a
 * lambda, from a handler of an exception. On top of it {@link #hold} stands still.
 */
final class Tower {
  private static final Step[] STEPS = {new First(), new Second(), new Third()};
  private static final RuntimeException THROWN = new RuntimeException("on purpose");

  private final byte[] ways;
  private final Method reflected;

  Tower(Random random, int height) {
    ways = new byte[height];
    for (int i = 0; i < height; i++) {
      // Reflection takes some frames of its own and is rare.
      ways[i] = (byte) (random.nextInt(30) == 0 ? 9 : random.nextInt(9));
    }
    try {
      reflected = Tower.class.getDeclaredMethod("up", Climb.class, int.class);
    } catch (NoSuchMethodException e) {
      throw new IllegalStateException(e);
    }
  }

  /** What is done on top. */
  private static final class Climb {
    final Activity activity;
    final int millis;
    final Report report;

    Climb(Activity activity, int millis, Report report) {
      this.activity = activity;
      this.millis = millis;
      this.report = report;
    }
  }

  void climb(Activity activity, int millis, Report report) throws Exception {
    up(new Climb(activity, millis, report), 0);
  }

  private void up(Climb climb, int level) throws Exception {
    if (level == ways.length) {
      hold(climb);
      return;
    }
    switch (ways[level]) {
      case 0:
      case 1:
      case 2:
        STEPS[ways[level]].step(this, climb, level + 1);
        break;
      case 3:
        new Built(this, climb, level + 1);
        break;
      case 4:
        locked(climb, level + 1);
        break;
      case 5:
        lambda(() -> up(climb, level + 1));
        break;
      case 6:
        handler(climb, level + 1);
        break;
      case 9:
        reflect(climb, level + 1);
        break;
      default:
        up(climb, level + 1);
    }
  }

  /** Stands still: every frame below this one stays where it is until it returns. */
  private void hold(Climb climb) throws Exception {
    StackTraceElement[] stack = new Throwable().getStackTrace();
    long start = climb.report.now();
    climb.activity.until(System.nanoTime() + climb.millis * 1_000_000L);
    climb.report.stood(stack, start, climb.report.now());
    int levels = 0;
    for (StackTraceElement f : stack) {
      if (f.getMethodName().equals("up")) {
        levels++;
      }
    }
    ValidationException.equal("levels on the stack", ways.length + 1, levels);
  }

  private void reflect(Climb climb, int level) throws Exception {
    try {
      reflected.invoke(this, climb, level);
    } catch (InvocationTargetException e) {
      throw new IllegalStateException(e.getCause());
    }
  }

  private synchronized void locked(Climb climb, int level) throws Exception {
    up(climb, level);
  }

  private void handler(Climb climb, int level) throws Exception {
    try {
      throw THROWN;
    } catch (RuntimeException e) {
      up(climb, level);
    }
  }

  private static void lambda(Call call) throws Exception {
    call.call();
  }

  private interface Call {
    void call() throws Exception;
  }

  private interface Step {
    void step(Tower tower, Climb climb, int level) throws Exception;
  }

  private static final class First implements Step {
    @Override
    public void step(Tower tower, Climb climb, int level) throws Exception {
      tower.up(climb, level);
    }
  }

  private static final class Second implements Step {
    @Override
    public void step(Tower tower, Climb climb, int level) throws Exception {
      tower.up(climb, level);
    }
  }

  private static final class Third implements Step {
    @Override
    public void step(Tower tower, Climb climb, int level) throws Exception {
      tower.up(climb, level);
    }
  }

  private static final class Built {
    Built(Tower tower, Climb climb, int level) throws Exception {
      tower.up(climb, level);
    }
  }
}
