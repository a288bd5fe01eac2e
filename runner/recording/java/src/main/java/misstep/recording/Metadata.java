package misstep.recording;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The types that a chunk describes: a table of strings and a tree of elements, as {@code
 * jdk.jfr.internal.MetadataWriter} writes them.
 */
final class Metadata {
  private static final String THREAD = "java.lang.Thread";
  private static final int MAX_DEPTH = 16;
  private static final int MAX_ELEMENTS = 1 << 20;

  /** What the value of a field means to those who check a chunk. */
  enum Role {
    NONE,
    START,
    DURATION,
    VIRTUAL
  }

  /** How a primitive value is written. */
  enum Form {
    BOOLEAN,
    BYTE,
    INTEGER,
    FLOAT,
    DOUBLE,
    STRING,
    NONE
  }

  /** A field of a type; {@code pooled}: its value is the id of a constant of its type. */
  static final class Field {
    private final String name;
    private final long type;
    private final boolean pooled;
    private final boolean array;
    private final Role role;
    private Type of;

    Field(String name, long type, boolean pooled, boolean array, Role role) {
      this.name = name;
      this.type = type;
      this.pooled = pooled;
      this.array = array;
      this.role = role;
    }

    String name() {
      return name;
    }

    long type() {
      return type;
    }

    boolean pooled() {
      return pooled;
    }

    boolean array() {
      return array;
    }

    Role role() {
      return role;
    }

    /** Returns its type, null where the metadata lacks it. */
    Type of() {
      return of;
    }
  }

  /** A type: an event, a constant, or a primitive, which has no fields. */
  record Type(long id, String name, List<Field> fields, Form form) {}

  private final Map<Long, Type> types = new HashMap<>();
  private final Cursor cursor;
  private final String[] strings;
  private int elements;

  /** Reads the metadata event at a position. */
  Metadata(byte[] chunk, int size, long position) {
    if (position < ChunkHeader.BYTES || position >= size) {
      throw new BrokenChunkException(
          "the header's place of the metadata, " + position + ", is outside of the chunk", 24);
    }
    cursor = new Cursor(chunk, (int) position, size);
    cursor.integer(); // size
    if (cursor.integer() != EventWalk.METADATA) {
      throw new BrokenChunkException(
          "the header's place of the metadata has another event", (int) position);
    }
    cursor.integer(); // start
    cursor.integer(); // duration
    cursor.integer(); // id of the metadata
    strings = new String[cursor.count()];
    for (int i = 0; i < strings.length; i++) {
      strings[i] = Values.string(cursor);
    }
    element(null, 0);
    types.values().forEach(type -> type.fields().forEach(field -> field.of = type(field.type())));
  }

  /** Returns a type, null for an unknown id. */
  Type type(long id) {
    return types.get(id);
  }

  private void element(Type parent, int depth) {
    if (depth > MAX_DEPTH || ++elements > MAX_ELEMENTS) {
      throw new BrokenChunkException("the metadata has too many elements", cursor.position());
    }
    String name = text();
    Map<String, String> attributes = new HashMap<>();
    for (int left = cursor.count(); left > 0; left--) {
      String key = text();
      attributes.put(key, text());
    }
    Type type = parent;
    if ("class".equals(name)) {
      String typeName = attributes.get("name");
      type = new Type(number(attributes.get("id")), typeName, new ArrayList<>(), form(typeName));
      types.put(type.id(), type);
    } else if ("field".equals(name) && parent != null) {
      parent.fields().add(field(parent, attributes));
    }
    for (int left = cursor.count(); left > 0; left--) {
      element(type, depth + 1);
    }
  }

  private static Form form(String name) {
    return switch (String.valueOf(name)) {
      case "boolean" -> Form.BOOLEAN;
      case "byte" -> Form.BYTE;
      case "char", "short", "int", "long" -> Form.INTEGER;
      case "float" -> Form.FLOAT;
      case "double" -> Form.DOUBLE;
      case "java.lang.String" -> Form.STRING;
      default -> Form.NONE;
    };
  }

  private Field field(Type owner, Map<String, String> attributes) {
    String name = attributes.get("name");
    Role role =
        switch (String.valueOf(name)) {
          case "startTime" -> Role.START;
          case "duration" -> Role.DURATION;
          case "virtual" -> THREAD.equals(owner.name()) ? Role.VIRTUAL : Role.NONE;
          default -> Role.NONE;
        };
    return new Field(
        name,
        number(attributes.get("class")),
        "true".equals(attributes.get("constantPool")),
        "1".equals(attributes.get("dimension")),
        role);
  }

  private String text() {
    long index = cursor.integer();
    if (index < 0 || index >= strings.length) {
      throw new BrokenChunkException("the metadata has no string " + index, cursor.position());
    }
    return strings[(int) index];
  }

  private long number(String value) {
    try {
      return Long.parseLong(value);
    } catch (NumberFormatException e) {
      throw new BrokenChunkException("\"" + value + "\" is no id of a type", cursor.position());
    }
  }
}
