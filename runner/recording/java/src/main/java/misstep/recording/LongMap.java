package misstep.recording;

import java.util.Arrays;

/** A map from long to long with open addressing: a chunk has up to hundreds of thousands of ids. */
final class LongMap {
  /** What is done with each entry. */
  interface Visitor {
    void visit(long key, long value);
  }

  private long[] keys = new long[16];
  private long[] values = new long[16];
  private boolean[] used = new boolean[16];
  private int size;

  int size() {
    return size;
  }

  boolean contains(long key) {
    return used[slot(key)];
  }

  long get(long key) {
    return values[slot(key)];
  }

  /** Enters a value unless the key is there; reports whether it was not. */
  boolean putIfAbsent(long key, long value) {
    int slot = slot(key);
    if (used[slot]) {
      return false;
    }
    used[slot] = true;
    keys[slot] = key;
    values[slot] = value;
    if (++size > keys.length / 2) {
      grow();
    }
    return true;
  }

  void forEach(Visitor visitor) {
    for (int i = 0; i < keys.length; i++) {
      if (used[i]) {
        visitor.visit(keys[i], values[i]);
      }
    }
  }

  private int slot(long key) {
    long hash = key * 0x9e3779b97f4a7c15L;
    int slot = (int) (hash >>> 32) & keys.length - 1;
    while (used[slot] && keys[slot] != key) {
      slot = slot + 1 & keys.length - 1;
    }
    return slot;
  }

  private void grow() {
    long[] oldKeys = keys;
    long[] oldValues = values;
    boolean[] oldUsed = used;
    keys = new long[oldKeys.length * 2];
    values = Arrays.copyOf(keys, keys.length);
    used = new boolean[keys.length];
    for (int i = 0; i < oldKeys.length; i++) {
      if (oldUsed[i]) {
        int slot = slot(oldKeys[i]);
        used[slot] = true;
        keys[slot] = oldKeys[i];
        values[slot] = oldValues[i];
      }
    }
  }
}
