package misstep.workloads.upcalls.fresh;

/** A class that loaders fail to load. */
class Missing extends RuntimeException {
  static int memberField = Integer.parseInt("5");

  Missing(int memberOnly) {
    super(Integer.toString(memberOnly));
  }

  static int memberCall() {
    return memberField;
  }

  int memberVirtual() {
    return memberField;
  }
}
