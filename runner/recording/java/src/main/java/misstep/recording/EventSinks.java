package misstep.recording;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.openjdk.jmc.common.IMCStackTrace;
import org.openjdk.jmc.common.IMCThread;
import org.openjdk.jmc.common.unit.IQuantity;
import org.openjdk.jmc.common.unit.IUnit;
import org.openjdk.jmc.common.unit.UnitLookup;
import org.openjdk.jmc.common.util.LabeledIdentifier;
import org.openjdk.jmc.flightrecorder.internal.util.JfrInternalConstants;
import org.openjdk.jmc.flightrecorder.parser.IConstantPoolExtension;
import org.openjdk.jmc.flightrecorder.parser.IEventSink;
import org.openjdk.jmc.flightrecorder.parser.IEventSinkFactory;
import org.openjdk.jmc.flightrecorder.parser.IParserExtension;
import org.openjdk.jmc.flightrecorder.parser.ValueField;

/**
 * Takes each event of one chunk from JMC and writes it at once, so that JMC keeps none: those with
 * a stack trace, settings and losses; all others are only counted.
 */
final class EventSinks implements IParserExtension, IEventSinkFactory {
  private static final String SETTING = "jdk.ActiveSetting";
  private static final String JVM = "jdk.JVMInformation";

  private final ChunkHeader header;
  private final StreamWriter out;
  private final Tables tables;
  private final Summary summary;
  private final Map<String, Integer> types = new HashMap<>();
  private long read;

  EventSinks(ChunkHeader header, StreamWriter out, Tables tables, Summary summary) {
    this.header = header;
    this.out = out;
    this.tables = tables;
    this.summary = summary;
  }

  /** Returns how many events JMC has read. */
  long read() {
    return read;
  }

  @Override
  public IEventSinkFactory getEventSinkFactory(IEventSinkFactory next) {
    return this;
  }

  @Override
  public IConstantPoolExtension createConstantPoolExtension() {
    return tables;
  }

  @Override
  public String getValueInterpretation(String event, String field) {
    return event.equals(SETTING) && field.equals("id")
        ? JfrInternalConstants.TYPE_IDENTIFIER_VALUE_INTERPRETATION
        : null;
  }

  @Override
  public IEventSink create(
      String type, String label, String[] category, String description, List<ValueField> fields) {
    Map<String, Integer> index = new HashMap<>();
    for (int i = 0; i < fields.size(); i++) {
      index.put(fields.get(i).getIdentifier(), i);
    }
    IEventSink sink = sink(type, new Fields(index));
    long[] count = summary.type(type);
    return values -> {
      read++;
      count[0]++;
      sink.addEvent(values);
    };
  }

  @Override
  public void flush() {}

  private IEventSink sink(String type, Fields fields) {
    return switch (type) {
      case SETTING -> values -> setting(fields, values);
      case JVM -> values -> jvm(fields, values);
      case Summary.DATA_LOSS -> values -> summary.lostBytes(fields.number(values, "amount"));
      case Summary.SAMPLES_LOST -> values -> lost(fields, values);
      default -> fields.has("stackTrace") ? sampled(type, fields) : values -> {};
    };
  }

  private void setting(Fields fields, Object[] values) {
    Object id = fields.get(values, "id");
    int type = tables.string(id instanceof LabeledIdentifier l ? l.getInterfaceId() : null);
    int name = tables.string(fields.string(values, "name"));
    int value = tables.string(fields.string(values, "value"));
    out.unsigned(type).unsigned(name).unsigned(value).end('G');
  }

  private void jvm(Fields fields, Object[] values) {
    jvm("jvmVersion", fields.string(values, "jvmVersion"));
    if (fields.has("jvmStartTime")) {
      jvm("jvmStartTime", Long.toString(fields.number(values, "jvmStartTime")));
    }
    if (fields.has("jvmName")) {
      jvm("jvmName", fields.string(values, "jvmName"));
    }
  }

  private void jvm(String field, String of) {
    int type = tables.string(JVM);
    int name = tables.string(field);
    int value = tables.string(of);
    out.unsigned(type).unsigned(name).unsigned(value).end('G');
  }

  private void lost(Fields fields, Object[] values) {
    long amount = fields.number(values, "lostSamples");
    summary.lostSamples(amount);
    int thread = tables.thread(fields.thread(values));
    out.signed(fields.start(values) - header.startNanos())
        .unsigned(thread)
        .unsigned(amount)
        .end('L');
  }

  /** Writes the events of a type with stack traces; where their fields are is looked up once. */
  private IEventSink sampled(String type, Fields fields) {
    int threadAt = fields.at(fields.threadName());
    int traceAt = fields.at("stackTrace");
    int stateAt = fields.at("state");
    int startAt = fields.at("startTime");
    int durationAt = fields.at("duration");
    int periodAt = fields.at("samplingPeriod");
    int biasedAt = fields.at("biased");
    int failedAt = fields.at("failed");
    return values -> {
      int number = typeNumber(type);
      int thread = tables.thread(Fields.get(values, threadAt) instanceof IMCThread t ? t : null);
      int trace = tables.trace(Fields.get(values, traceAt) instanceof IMCStackTrace t ? t : null);
      int state = tables.string(Fields.get(values, stateAt) instanceof String s ? s : null);
      out.unsigned(number)
          .signed(Fields.in(UnitLookup.EPOCH_NS, Fields.get(values, startAt)) - header.startNanos())
          .unsigned(Fields.nanos(Fields.get(values, durationAt)))
          .unsigned(Fields.nanos(Fields.get(values, periodAt)))
          .unsigned(thread)
          .unsigned(trace)
          .unsigned(state)
          .unsigned(
              Fields.truth(Fields.get(values, biasedAt)) << 2
                  | Fields.truth(Fields.get(values, failedAt)))
          .end('E');
      summary.withTrace();
    };
  }

  private int typeNumber(String type) {
    Integer known = types.get(type);
    if (known != null) {
      return known;
    }
    int name = tables.string(type);
    out.unsigned(name).end('T');
    types.put(type, types.size() + 1);
    return types.size();
  }

  /** The fields of one event type by their names. */
  private record Fields(Map<String, Integer> index) {
    boolean has(String name) {
      return index.containsKey(name);
    }

    /** Returns where a field is among the values, -1 for none. */
    int at(String name) {
      return index.getOrDefault(name, -1);
    }

    static Object get(Object[] values, int at) {
      return at < 0 ? null : values[at];
    }

    Object get(Object[] values, String name) {
      return get(values, at(name));
    }

    String string(Object[] values, String name) {
      return get(values, name) instanceof String s ? s : null;
    }

    /** Returns the field of the thread whose stack an event has: samplers have one of their own. */
    String threadName() {
      return has("sampledThread") ? "sampledThread" : "eventThread";
    }

    IMCThread thread(Object[] values) {
      return get(values, threadName()) instanceof IMCThread t ? t : null;
    }

    long start(Object[] values) {
      return in(UnitLookup.EPOCH_NS, get(values, "startTime"));
    }

    static long nanos(Object value) {
      return Math.max(0, in(UnitLookup.NANOSECOND, value));
    }

    long number(Object[] values, String name) {
      Object value = get(values, name);
      if (value instanceof IQuantity q) {
        return q.longValue();
      }
      return value instanceof Number n ? n.longValue() : 0;
    }

    /** Returns 0 where the type lacks the field, 1 for false, 2 for true. */
    static int truth(Object value) {
      return value instanceof Boolean b ? b ? 2 : 1 : 0;
    }

    static long in(IUnit unit, Object value) {
      return value instanceof IQuantity q ? q.clampedLongValueIn(unit) : 0;
    }
  }
}
