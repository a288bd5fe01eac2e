package misstep.recording;

/** Goes through values by their types and tells which constants they refer to. */
final class Values {
  private static final int MAX_DEPTH = 16;

  /** What is told of the values. */
  interface Visitor {
    /** A value of a field is the id of a constant, 0 for none. */
    void reference(Metadata.Field field, long type, long id, int position);

    /** The value of a field that has a role. */
    void value(Metadata.Field field, long value);
  }

  private final Visitor visitor;

  Values(Visitor visitor) {
    this.visitor = visitor;
  }

  /** Goes through the fields of an event or a constant. */
  void fields(Metadata.Type type, Cursor cursor) {
    fields(type, cursor, 0);
  }

  /** Goes through a constant of a type, which may be a string. */
  void constant(Metadata.Type type, Cursor cursor) {
    if (type.fields().isEmpty()) {
      primitive(null, type, cursor);
    } else {
      fields(type, cursor, 0);
    }
  }

  private void fields(Metadata.Type type, Cursor cursor, int depth) {
    if (depth > MAX_DEPTH) {
      throw new BrokenChunkException(type.name() + " contains itself", cursor.position());
    }
    for (Metadata.Field field : type.fields()) {
      field(type, field, cursor, depth);
    }
  }

  /** Goes through one field, with all elements of an array. */
  void field(Metadata.Type type, Metadata.Field field, Cursor cursor, int depth) {
    int count = field.array() ? cursor.count() : 1;
    Metadata.Type of = field.of();
    if (of == null) {
      throw new BrokenChunkException(
          type.name() + "." + field.name() + " has the unknown type " + field.type(),
          cursor.position());
    }
    for (; count > 0; count--) {
      if (field.pooled()) {
        int position = cursor.position();
        visitor.reference(field, of.id(), cursor.integer(), position);
      } else if (of.fields().isEmpty()) {
        primitive(field, of, cursor);
      } else {
        fields(of, cursor, depth + 1);
      }
    }
  }

  private void primitive(Metadata.Field field, Metadata.Type type, Cursor cursor) {
    switch (type.form()) {
      case BOOLEAN -> value(field, cursor.octet());
      case BYTE -> cursor.skip(1);
      case INTEGER -> value(field, cursor.integer());
      case FLOAT -> cursor.skip(4);
      case DOUBLE -> cursor.skip(8);
      case STRING -> {
        int position = cursor.position();
        long id = skipString(cursor);
        if (id != 0) {
          visitor.reference(field, type.id(), id, position);
        }
      }
      default ->
          throw new BrokenChunkException(type.name() + " is no primitive type", cursor.position());
    }
  }

  private void value(Metadata.Field field, long value) {
    if (field != null && field.role() != Metadata.Role.NONE) {
      visitor.value(field, value);
    }
  }

  /** Skips a string; returns the id of the constant that it is, or 0. */
  private static long skipString(Cursor cursor) {
    byte encoding = cursor.octet();
    switch (encoding) {
      case 0, 1 -> {} // null, empty
      case 2 -> {
        return cursor.integer();
      }
      case 3, 5 -> cursor.skip(cursor.count()); // UTF-8, Latin-1
      case 4 -> {
        for (int left = cursor.count(); left > 0; left--) {
          cursor.integer();
        }
      }
      default ->
          throw new BrokenChunkException(
              "a string has the unknown encoding " + encoding, cursor.position());
    }
    return 0;
  }

  /** Reads a string of the metadata, where none is a constant. */
  static String string(Cursor cursor) {
    byte encoding = cursor.octet();
    switch (encoding) {
      case 0:
        return null;
      case 1:
        return "";
      case 3:
      case 5:
        return cursor.text(cursor.count(), encoding == 3);
      case 4:
        int length = cursor.count();
        StringBuilder text = new StringBuilder(length);
        for (int i = 0; i < length; i++) {
          text.append((char) cursor.integer());
        }
        return text.toString();
      default:
        throw new BrokenChunkException(
            "a string has the unknown encoding " + encoding, cursor.position());
    }
  }
}
