package misstep.recording;

/** Goes from event to event of a chunk by their sizes, without looking into them. */
final class EventWalk {
  static final long METADATA = 0;
  static final long CHECKPOINT = 1;

  private final byte[] chunk;
  private final int end;
  private int next = ChunkHeader.BYTES;
  private int position;
  private long type;

  EventWalk(byte[] chunk, int end) {
    this.chunk = chunk;
    this.end = end;
  }

  /** Goes to the next event; false where none is complete. */
  boolean next() {
    position = next;
    Cursor cursor = new Cursor(chunk, position, end);
    try {
      long size = cursor.integer();
      type = cursor.integer();
      if (size < cursor.position() - position || size > end - position) {
        return false;
      }
      next = position + (int) size;
      return true;
    } catch (BrokenChunkException e) {
      return false;
    }
  }

  int position() {
    return position;
  }

  long type() {
    return type;
  }

  /** Returns where the last complete event ends. */
  int complete() {
    return next;
  }

  /** Returns the position of the event with an index, not counting metadata and checkpoints; -1 for none. */
  static int positionOf(byte[] chunk, int end, long index) {
    EventWalk walk = new EventWalk(chunk, end);
    while (walk.next()) {
      if (walk.type > CHECKPOINT && index-- == 0) {
        return walk.position;
      }
    }
    return -1;
  }

  /**
   * Makes a readable chunk of the beginning of one: up to its last complete event, with the last
   * metadata and checkpoint before it. JFR writes both at each flush, once a second by default
   * (JDK 14 and later), so that at most the events after the last one lack constants.
   *
   * @return its size, 0 if there is no metadata in what is left
   */
  static int salvage(byte[] chunk, int end) {
    EventWalk walk = new EventWalk(chunk, end);
    long metadata = 0;
    long constants = 0;
    while (walk.next()) {
      if (walk.type == METADATA) {
        metadata = walk.position;
      } else if (walk.type == CHECKPOINT) {
        constants = walk.position;
      }
    }
    if (metadata == 0) {
      return 0;
    }
    ChunkHeader.patch(chunk, walk.complete(), constants, metadata);
    return walk.complete();
  }
}
