package misstep.recording;

import java.util.IdentityHashMap;
import java.util.Map;
import java.util.TreeMap;

/** The constants that a chunk defines, and the references to them, by the field that refers. */
final class Pools implements Same.Definitions {
  /** Of the faults that differ only in the id, this many are written per chunk; the counts have all. */
  private static final int MAX_FAULTS = 100;

  private static final class Pool {
    final LongMap defined = new LongMap(); // id to where a parser finds it
    final LongMap again = new LongMap(); // position of another definition to the id
  }

  /** A field of a type that refers to constants, with the ids that it has. */
  private record Link(Metadata.Type from, Metadata.Field field, long type, LongMap ids) {}

  private final Metadata metadata;
  private final StreamWriter out;
  private final Tables tables;
  private final TreeMap<Long, Pool> pools = new TreeMap<>();
  private final Map<Metadata.Type, Map<Metadata.Field, Link>> links = new IdentityHashMap<>();
  private Metadata.Type referrer;
  private Map<Metadata.Field, Link> current;

  Pools(Metadata metadata, StreamWriter out, Tables tables) {
    this.metadata = metadata;
    this.out = out;
    this.tables = tables;
  }

  /** Sets the type of the event or constant to which the references belong that follow. */
  void from(Metadata.Type type) {
    if (type != referrer) {
      referrer = type;
      current = links.computeIfAbsent(type, t -> new IdentityHashMap<>());
    }
  }

  /** Enters a reference; 0 is none. */
  void reference(Metadata.Field field, long type, long id, int position) {
    if (id != 0) {
      Link link = current.get(field);
      if (link == null) {
        link = new Link(referrer, field, type, new LongMap());
        current.put(field, link);
        pool(type);
      }
      link.ids.putIfAbsent(id, position);
    }
  }

  /** Enters a definition with the position of its contents. */
  void define(Metadata.Type type, long id, int position) {
    Pool pool = pool(type.id());
    if (!pool.defined.putIfAbsent(id, position)) {
      pool.again.putIfAbsent(position, id);
    }
  }

  @Override
  public int position(long type, long id) {
    Pool pool = pools.get(type);
    return pool != null && pool.defined.contains(id) ? (int) pool.defined.get(id) : -1;
  }

  /** Writes how many constants of each type there are, each link, and what is lacking. */
  void write(Same same) {
    Map<Long, Integer> referenced = new TreeMap<>();
    links.values().forEach(fields -> fields.values().forEach(link -> write(link, referenced)));
    pools.forEach(
        (type, pool) -> {
          writeTwice(metadata.type(type), pool, same);
          int name = tables.string(metadata.type(type).name());
          out.unsigned(name)
              .unsigned(pool.defined.size())
              .unsigned(referenced.getOrDefault(type, 0))
              .end('P');
        });
  }

  /** Writes the definitions that differ from the one a parser finds, and their number. */
  private void writeTwice(Metadata.Type type, Pool pool, Same same) {
    Map<String, LongMap> differing = new TreeMap<>(); // fields to ids
    pool.again.forEach(
        (position, id) -> {
          String fields =
              String.join(",", same.differing(type, (int) pool.defined.get(id), (int) position));
          if (!fields.isEmpty()) {
            LongMap ids = differing.computeIfAbsent(fields, f -> new LongMap());
            if (ids.putIfAbsent(id, 1) && ids.size() <= MAX_FAULTS) {
              fault('D', type, id, type, (int) position, fields);
            }
          }
        });
    differing.forEach(
        (fields, ids) -> {
          int name = tables.string(type.name());
          int fieldNames = tables.string(fields);
          out.unsigned(name).unsigned(fieldNames).unsigned(ids.size()).end('W');
        });
  }

  private void write(Link link, Map<Long, Integer> referenced) {
    referenced.merge(link.type, link.ids.size(), Integer::sum);
    Metadata.Type type = metadata.type(link.type);
    LongMap defined = pool(link.type).defined;
    int[] missing = {0};
    String field = link.field == null ? null : link.field.name();
    link.ids.forEach(
        (id, position) -> {
          if (!defined.contains(id)) {
            missing[0]++;
            if (missing[0] <= MAX_FAULTS) {
              fault('U', type, id, link.from, (int) position, field);
            }
          }
        });
    int typeName = tables.string(type.name());
    int from = tables.string(link.from.name());
    int fieldName = tables.string(field);
    out.unsigned(typeName)
        .unsigned(from)
        .unsigned(fieldName)
        .unsigned(link.ids.size())
        .unsigned(missing[0])
        .end('R');
  }

  private void fault(
      char tag, Metadata.Type type, long id, Metadata.Type from, int position, String field) {
    int name = tables.string(type.name());
    int fromName = tables.string(from.name());
    int fieldName = tables.string(field);
    out.unsigned(name)
        .unsigned(id)
        .unsigned(fromName)
        .unsigned(position)
        .unsigned(fieldName)
        .end(tag);
  }

  private Pool pool(long type) {
    return pools.computeIfAbsent(type, t -> new Pool());
  }
}
