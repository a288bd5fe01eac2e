package misstep.workloads.hangs.fresh;

/** Is initialised before its subclasses. */
class Base {
  static final int BASE = Integer.parseInt("1");
}
