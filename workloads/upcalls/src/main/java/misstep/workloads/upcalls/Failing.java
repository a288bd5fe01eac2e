package misstep.workloads.upcalls;

import misstep.workloads.FreshLoader;

/** Class loaders that fail, and initialisers that throw. */
final class Failing implements Part {
  private static final int WAYS = 9;
  private static final int FAULTS = FaultyLoader.Fault.values().length;

  /**
   * Ways by name fail for each fault; when only the members' names are wrong, the first three ways
   * do.
   */
  static final long COUNT = (FAULTS - 1) * (WAYS + 2) + 3 + 4;

  @Override
  public long run(long seed) throws Exception {
    long count = 0;
    for (FaultyLoader.Fault fault : FaultyLoader.Fault.values()) {
      FaultyLoader loader = new FaultyLoader(fault);
      Way uses = loader.way("Uses");
      for (int i = 0; i < WAYS; i++) {
        int way = (int) Math.floorMod(seed + i, (long) WAYS);
        // If the class exists, only a wrong cast remains.
        if (way != 4 || fault != FaultyLoader.Fault.OTHER_MEMBERS) {
          count += fails(uses, way, fault);
        }
      }
      if (fault != FaultyLoader.Fault.OTHER_MEMBERS) {
        count += catches(loader, fault) + named(loader, fault);
      }
      if (loader.asked() == 0) {
        throw new IllegalStateException("the loader was not asked, with " + fault);
      }
    }
    return count + initialisers();
  }

  private static int fails(Way way, int number, FaultyLoader.Fault fault) {
    try {
      way.go(number);
      return 0;
    } catch (Throwable e) {
      return planned(e, fault) ? 1 : 0;
    }
  }

  private static boolean planned(Throwable thrown, FaultyLoader.Fault fault) {
    for (Throwable e = thrown; e != null; e = e.getCause()) {
      if (fault == FaultyLoader.Fault.RUNTIME_EXCEPTION
          ? e instanceof FaultyLoader.Refused
          : fault == FaultyLoader.Fault.ERROR
              ? e instanceof FaultyLoader.Broke
              : e instanceof LinkageError) {
        return true;
      }
    }
    return false;
  }

  private static int catches(FaultyLoader loader, FaultyLoader.Fault fault) {
    try {
      return fails(loader.way("Catches"), 1, fault);
    } catch (Throwable e) {
      return planned(e, fault) ? 1 : 0;
    }
  }

  private static int named(FaultyLoader loader, FaultyLoader.Fault fault) {
    try {
      Class.forName(FaultyLoader.MISSING, true, loader);
      return 0;
    } catch (ClassNotFoundException e) {
      return 1;
    } catch (Throwable e) {
      return planned(e, fault) ? 1 : 0;
    }
  }

  private static int initialisers() throws ReflectiveOperationException {
    Way broken = new FreshLoader(Failing.class, "fresh").make("Broken", Way.class);
    int count = 0;
    for (int i = 0; i < 4; i++) {
      try {
        broken.go(i);
      } catch (ExceptionInInitializerError e) {
        count += i == 0 ? 1 : 0;
      } catch (AssertionError e) {
        count += i == 1 ? 1 : 0;
      } catch (NoClassDefFoundError e) {
        count += i >= 2 ? 1 : 0;
      }
    }
    return count;
  }
}
