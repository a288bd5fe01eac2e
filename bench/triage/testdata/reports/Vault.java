/** The native library's methods; reports.c and ring.cpp implement them. */
class Vault {
  static class Handle {
    @Override
    @SuppressWarnings({"deprecation", "removal"})
    protected void finalize() {
      releaseHandle();
    }
  }

  static native void tablePut();

  static native void indexFind();

  static native void average();

  static native void closeFile();

  static native void formatLine();

  static native void copyRows();

  static native void packKeys();

  static native void wipePages();

  static native void parseName();

  static native void listFolder();

  static native void freeNode();

  static native void detachedSum();

  static native void attachedSum();

  static native void decodeOp();

  static native void callHook();

  static native void dispatchEvent();

  static native void sortRows();

  static native void selfSignal();

  static native void scanMap();

  static native void unnamedFirst();

  static native void unnamedSecond();

  static native void pushRing();

  static native void releaseHandle();

  static native void exit();

  static native void staleClass();

  static native void staleLength();

  static native void staleText();

  static native void staleGlobal();

  static native void staleMethod();

  static native void walkSelf();

  static native void walkOther(Thread t);

  static native void walkAsync();

  static native void walkStale();

  static native void pause(boolean broken);

  static native void kill(String names);
}
