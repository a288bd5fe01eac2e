package misstep.recording;

import java.util.TreeMap;

/**
 * Which constants a chunk defines, and to which its events and constants refer: what a parser
 * hides, since it takes the last definition of an id and null for one that is missing.
 */
final class Constants implements Values.Visitor {
  private static final String THREAD = "java.lang.Thread";

  /** Of each kind of fault, this many are written per chunk; the counts have all. */
  private static final int MAX_FAULTS = 1000;

  private static final class Pool {
    final LongMap defined = new LongMap(); // id to the hash of the value
    final LongMap referenced = new LongMap(); // id to the referrer's type << 32 | position
  }

  private final byte[] chunk;
  private final int size;
  private final ChunkHeader header;
  private final StreamWriter out;
  private final Tables tables;
  private final Metadata metadata;
  private final Values values;
  private final TreeMap<Long, Pool> pools = new TreeMap<>();
  private final LongMap virtual = new LongMap();
  private Metadata.Type referrer;
  private long current;
  private int faults;

  Constants(ChunkHeader header, byte[] chunk, int size, StreamWriter out, Tables tables) {
    this.header = header;
    this.chunk = chunk;
    this.size = size;
    this.out = out;
    this.tables = tables;
    this.metadata = new Metadata(chunk, size, header.metadata());
    this.values = new Values(metadata, this);
  }

  /** Returns the ids of the virtual threads. */
  LongMap virtual() {
    return virtual;
  }

  /** Reads the constants, then the events, and writes what is amiss. */
  void check() {
    int chained = 0;
    long at = 0;
    for (long delta = header.constants(); delta != 0; chained++) {
      at += delta;
      if (at < ChunkHeader.BYTES || at >= size || chained > size) {
        throw new BrokenChunkException("the chain of checkpoints leads to " + at, 16);
      }
      delta = checkpoint((int) at);
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
    write();
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
      Pool pool = pool(type.id());
      referrer = type;
      for (int constants = cursor.count(); constants > 0; constants--) {
        constant(type, pool, cursor);
      }
    }
    if (cursor.position() - position != bytes) {
      throw new BrokenChunkException(
          "a checkpoint of " + bytes + " bytes has " + (cursor.position() - position), position);
    }
    return delta;
  }

  private void constant(Metadata.Type type, Pool pool, Cursor cursor) {
    current = cursor.integer();
    int from = cursor.position();
    values.constant(type, cursor);
    long hash = cursor.hashSince(from);
    if (!pool.defined.putIfAbsent(current, hash) && pool.defined.get(current) != hash) {
      fault('D', type, current, type, from);
    }
  }

  private void event(EventWalk walk) {
    Metadata.Type type = known(walk.type(), walk.position());
    Cursor cursor = new Cursor(chunk, walk.position(), walk.complete());
    cursor.integer(); // size
    cursor.integer(); // type
    referrer = type;
    values.fields(type, cursor);
    if (cursor.position() != walk.complete()) {
      throw new BrokenChunkException(
          type.name() + " has " + (walk.complete() - cursor.position()) + " bytes after its fields",
          walk.position());
    }
  }

  @Override
  public void reference(long type, long id, int position) {
    if (id != 0) {
      pool(type).referenced.putIfAbsent(id, referrer.id() << 32 | position);
    }
  }

  @Override
  public void truth(Metadata.Type owner, String field, boolean value) {
    if (value && THREAD.equals(owner.name()) && "virtual".equals(field)) {
      virtual.putIfAbsent(current, 1);
    }
  }

  private void write() {
    pools.forEach(
        (type, pool) -> {
          int name = tables.string(metadata.type(type).name());
          out.unsigned(name)
              .unsigned(pool.defined.size())
              .unsigned(pool.referenced.size())
              .end('P');
          pool.referenced.forEach(
              (id, from) -> {
                if (!pool.defined.contains(id)) {
                  fault('U', metadata.type(type), id, metadata.type(from >>> 32), (int) from);
                }
              });
        });
  }

  private void fault(char tag, Metadata.Type type, long id, Metadata.Type from, int position) {
    if (faults++ < MAX_FAULTS) {
      int name = tables.string(type.name());
      int fromName = tables.string(from.name());
      out.unsigned(name).unsigned(id).unsigned(fromName).unsigned(position).end(tag);
    }
  }

  private Pool pool(long type) {
    return pools.computeIfAbsent(type, t -> new Pool());
  }

  private Metadata.Type known(long id, int position) {
    Metadata.Type type = metadata.type(id);
    if (type == null) {
      throw new BrokenChunkException("the metadata has no type " + id, position);
    }
    return type;
  }
}
