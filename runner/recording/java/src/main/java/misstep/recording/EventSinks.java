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
    return values -> {
      read++;
      summary.event(type);
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
      default -> fields.has("stackTrace") ? values -> event(type, fields, values) : values -> {};
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
    int type = tables.string(JVM);
    int name = tables.string("jvmVersion");
    int value = tables.string(fields.string(values, "jvmVersion"));
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

  private void event(String type, Fields fields, Object[] values) {
    int number = typeNumber(type);
    int thread = tables.thread(fields.thread(values));
    int trace =
        tables.trace(fields.get(values, "stackTrace") instanceof IMCStackTrace t ? t : null);
    int state = tables.string(fields.string(values, "state"));
    out.unsigned(number)
        .signed(fields.start(values) - header.startNanos())
        .unsigned(fields.nanos(values, "duration"))
        .unsigned(fields.nanos(values, "samplingPeriod"))
        .unsigned(thread)
        .unsigned(trace)
        .unsigned(state)
        .unsigned(fields.truth(values, "biased") << 2 | fields.truth(values, "failed"))
        .end('E');
    summary.withTrace();
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

    Object get(Object[] values, String name) {
      Integer i = index.get(name);
      return i == null ? null : values[i];
    }

    String string(Object[] values, String name) {
      return get(values, name) instanceof String s ? s : null;
    }

    /** Returns the thread whose stack an event has: samplers say it in a field of its own. */
    IMCThread thread(Object[] values) {
      return get(values, has("sampledThread") ? "sampledThread" : "eventThread")
              instanceof IMCThread t
          ? t
          : null;
    }

    long start(Object[] values) {
      return in(UnitLookup.EPOCH_NS, get(values, "startTime"));
    }

    long nanos(Object[] values, String name) {
      return Math.max(0, in(UnitLookup.NANOSECOND, get(values, name)));
    }

    long number(Object[] values, String name) {
      Object value = get(values, name);
      if (value instanceof IQuantity q) {
        return q.longValue();
      }
      return value instanceof Number n ? n.longValue() : 0;
    }

    /** Returns 0 where the type lacks the field, 1 for false, 2 for true. */
    int truth(Object[] values, String name) {
      return get(values, name) instanceof Boolean b ? b ? 2 : 1 : 0;
    }

    private static long in(IUnit unit, Object value) {
      return value instanceof IQuantity q ? q.clampedLongValueIn(unit) : 0;
    }
  }
}
