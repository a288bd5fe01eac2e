package misstep.recording;

import java.util.ArrayList;
import java.util.List;

/**
 * Compares constants by what they say. The same class or method can be written more than once in a
 * chunk, with other ids for its symbols: those are compared by their texts.
 */
final class Same {
  /** A method's class's loader's type's name. */
  private static final int MAX_DEPTH = 6;

  /** Where a chunk defines its constants. */
  interface Definitions {
    /** Returns the position of the contents of a constant, -1 if it is not defined. */
    int position(long type, long id);
  }

  private final byte[] chunk;
  private final int size;
  private final Metadata metadata;
  private final Definitions definitions;
  private final Values skip;

  Same(byte[] chunk, int size, Metadata metadata, Definitions definitions) {
    this.chunk = chunk;
    this.size = size;
    this.metadata = metadata;
    this.definitions = definitions;
    this.skip = new Values(new Ignoring());
  }

  /** Returns the fields in which two constants of a type differ, "value" where it has none. */
  List<String> differing(Metadata.Type type, int one, int other) {
    List<String> names = new ArrayList<>();
    if (type.fields().isEmpty()) {
      if (!sameBytes(type, one, other)) {
        names.add("value");
      }
      return names;
    }
    Cursor a = new Cursor(chunk, one, size);
    Cursor b = new Cursor(chunk, other, size);
    for (Metadata.Field field : type.fields()) {
      if (!same(type, field, a, b, 0)) {
        names.add(field.name());
      }
    }
    return names;
  }

  /** Compares one field; both cursors are behind it afterwards. */
  private boolean same(Metadata.Type type, Metadata.Field field, Cursor a, Cursor b, int depth) {
    int fromA = a.position();
    int fromB = b.position();
    skip.field(type, field, a, 0);
    skip.field(type, field, b, 0);
    if (a.sameSince(fromA, b, fromB)) {
      return true;
    }
    if (!field.pooled() || field.array() || depth > MAX_DEPTH) {
      return false;
    }
    long idA = new Cursor(chunk, fromA, size).integer();
    long idB = new Cursor(chunk, fromB, size).integer();
    int one = definitions.position(field.type(), idA);
    int other = definitions.position(field.type(), idB);
    return one >= 0 && other >= 0 && sameConstants(metadata.type(field.type()), one, other, depth);
  }

  private boolean sameConstants(Metadata.Type type, int one, int other, int depth) {
    if (type.fields().isEmpty()) {
      return sameBytes(type, one, other);
    }
    Cursor a = new Cursor(chunk, one, size);
    Cursor b = new Cursor(chunk, other, size);
    for (Metadata.Field field : type.fields()) {
      if (!same(type, field, a, b, depth + 1)) {
        return false;
      }
    }
    return true;
  }

  private boolean sameBytes(Metadata.Type type, int one, int other) {
    Cursor a = new Cursor(chunk, one, size);
    Cursor b = new Cursor(chunk, other, size);
    skip.constant(type, a);
    skip.constant(type, b);
    return a.sameSince(one, b, other);
  }

  private static final class Ignoring implements Values.Visitor {
    @Override
    public void reference(Metadata.Field field, long type, long id, int position) {}

    @Override
    public void value(Metadata.Field field, long value) {}
  }
}
