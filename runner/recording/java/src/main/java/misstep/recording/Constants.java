package misstep.recording;

/**
 * Goes through a whole chunk by its metadata: which constants it defines, to which its events and
 * constants refer, and when its events ended. A parser hides this, since it takes the last
 * definition of an id and null for one that is missing.
 */
final class Constants implements Values.Visitor {
  private final byte[] chunk;
  private final int size;
  private final ChunkHeader header;
  private final StreamWriter out;
  private final Tables tables;
  private final Metadata metadata;
  private final Values values;
  private final Pools pools;
  private final EventTimes times;
  private final LongMap virtual = new LongMap();
  private long current;

  Constants(ChunkHeader header, byte[] chunk, int size, StreamWriter out, Tables tables) {
    this.header = header;
    this.chunk = chunk;
    this.size = size;
    this.out = out;
    this.tables = tables;
    this.metadata = new Metadata(chunk, size, header.metadata());
    this.values = new Values(this);
    this.pools = new Pools(metadata, out, tables);
    this.times = new EventTimes(header);
  }

  /** Returns the ids of the virtual threads. */
  LongMap virtual() {
    return virtual;
  }

  /** Reads the constants, then the events, and writes what there is and what is amiss. */
  void check() {
    int chained = 0;
    long at = 0;
    for (long delta = header.constants(); delta != 0; chained++) {
      at += delta;
      if (at < ChunkHeader.BYTES || at >= size || chained > size) {
        throw new BrokenChunkException("the chain of checkpoints leads to " + at, 16);
      }
      delta = checkpoint((int) at);
      if (delta > 0) {
        throw new BrokenChunkException("the chain of checkpoints goes forward", (int) at);
      }
    }
    int checkpoints = 0;
    EventWalk walk = new EventWalk(chunk, size);
    while (walk.next()) {
      if (walk.type() == EventWalk.CHECKPOINT) {
        checkpoints++;
      } else if (walk.type() != EventWalk.METADATA) {
        event(walk);
      }
    }
    if (walk.complete() != size) {
      throw new BrokenChunkException("no event begins here", walk.complete());
    }
    if (checkpoints != chained) {
      throw new BrokenChunkException(
          checkpoints + " checkpoints in the chunk, " + chained + " in the chain from the header",
          16);
    }
    pools.write(new Same(chunk, size, metadata, pools));
    times.write(out, tables);
  }

  private long checkpoint(int position) {
    Cursor cursor = new Cursor(chunk, position, size);
    long bytes = cursor.integer();
    if (cursor.integer() != EventWalk.CHECKPOINT) {
      throw new BrokenChunkException("the chain of checkpoints leads to another event", position);
    }
    cursor.integer(); // start
    cursor.integer(); // duration
    long delta = cursor.integer();
    cursor.octet(); // kind of the checkpoint
    for (int left = cursor.count(); left > 0; left--) {
      Metadata.Type type = known(cursor.integer(), cursor.position());
      pools.from(type);
      for (int constants = cursor.count(); constants > 0; constants--) {
        constant(type, cursor);
      }
    }
    if (cursor.position() - position != bytes) {
      throw new BrokenChunkException(
          "a checkpoint of " + bytes + " bytes has " + (cursor.position() - position), position);
    }
    return delta;
  }

  private void constant(Metadata.Type type, Cursor cursor) {
    current = cursor.integer();
    int from = cursor.position();
    values.constant(type, cursor);
    pools.define(type, current, from);
  }

  private void event(EventWalk walk) {
    Metadata.Type type = known(walk.type(), walk.position());
    Cursor cursor = new Cursor(chunk, walk.position(), walk.complete());
    cursor.integer(); // size
    cursor.integer(); // type
    pools.from(type);
    times.begin();
    values.fields(type, cursor);
    times.end(type);
    if (cursor.position() != walk.complete()) {
      throw new BrokenChunkException(
          type.name() + " has " + (walk.complete() - cursor.position()) + " bytes after its fields",
          walk.position());
    }
  }

  @Override
  public void reference(Metadata.Field field, long type, long id, int position) {
    pools.reference(field, type, id, position);
  }

  @Override
  public void value(Metadata.Field field, long value) {
    if (field.role() != Metadata.Role.VIRTUAL) {
      times.value(field, value);
    } else if (value != 0) {
      virtual.putIfAbsent(current, 1);
    }
  }

  private Metadata.Type known(long id, int position) {
    Metadata.Type type = metadata.type(id);
    if (type == null) {
      throw new BrokenChunkException("the metadata has no type " + id, position);
    }
    return type;
  }
}
