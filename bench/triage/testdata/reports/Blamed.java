/** An object whose field is damaged. */
class Broken {
  Object next;
}

class Ledger {
  static class Rejected extends RuntimeException {}

  static void post(long address) {
    Crashes.UNSAFE.putLong(address, 1);
  }

  static void settle(long address) {
    Crashes.UNSAFE.putInt(address + 4, 7);
  }

  static void apply(long address) {
    Crashes.UNSAFE.putByte(address + 1, (byte) 1);
  }

  static void reject() {
    throw new Rejected();
  }
}

class Index {
  static class Damaged extends RuntimeException {}

  static long sink;

  static void probe(long address) {
    sink += Crashes.UNSAFE.getLong(address + 8);
  }

  static void swap(long address) {
    Crashes.UNSAFE.compareAndSwapLong(null, address, 1, 2);
  }

  static void grow(int depth) {
    if (depth > 0) {
      grow(depth - 1);
    } else {
      Crashes.UNSAFE.putAddress(Crashes.WILD, 1);
    }
  }

  static void spill(long address) {
    Crashes.UNSAFE.putShort(address, (short) 3);
  }

  static void reject() {
    throw new Damaged();
  }
}

class Pages {
  static final long TARGET = Crashes.UNSAFE.allocateMemory(256);

  static void copy(long address) {
    Crashes.UNSAFE.copyMemory(address, TARGET, 64);
  }

  static void wipe(long address) {
    Crashes.UNSAFE.setMemory(address, 64, (byte) 0);
  }

  static void drain(long address) {
    Runnable r = () -> Crashes.UNSAFE.putChar(address, 'x');
    r.run();
  }

  static void flush(long address) {
    Crashes.UNSAFE.putFloat(address, 1f);
  }
}
