package misstep.recording;

import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import org.openjdk.jmc.common.IMCFrame;
import org.openjdk.jmc.common.IMCMethod;
import org.openjdk.jmc.common.IMCStackTrace;
import org.openjdk.jmc.common.IMCThread;
import org.openjdk.jmc.common.IMCType;
import org.openjdk.jmc.flightrecorder.parser.IConstantPoolExtension;

/**
 * What the events of one chunk refer to. Each entry is written before the first event that needs
 * it, and has the number of its record in the chunk, from 1; 0 is an absent one. Entries are told
 * apart by their constant, not by their contents: two classes of one name are two.
 */
final class Tables implements IConstantPoolExtension {
  private static final List<IMCFrame.Type> FRAME_TYPES =
      List.of(
          IMCFrame.Type.INTERPRETED,
          IMCFrame.Type.JIT_COMPILED,
          IMCFrame.Type.INLINED,
          IMCFrame.Type.NATIVE,
          IMCFrame.Type.CPP,
          IMCFrame.Type.KERNEL);

  private static final int METHOD_HIDDEN = 1;
  private static final int CLASS_HIDDEN = 2;
  private static final int TRUNCATED = 1;
  private static final int CUT = 2;

  private final StreamWriter out;
  private final int maxFrames;
  private final Map<Object, Long> constants = new IdentityHashMap<>();
  private final Map<String, Integer> strings = new HashMap<>();
  private final Map<IMCMethod, Integer> methods = new IdentityHashMap<>();
  private final Map<IMCThread, Integer> threads = new IdentityHashMap<>();
  private final Map<IMCStackTrace, Integer> traces = new IdentityHashMap<>();

  private LongMap virtual = new LongMap();
  private String last;
  private int lastNumber;

  Tables(StreamWriter out, int maxFrames) {
    this.out = out;
    this.maxFrames = maxFrames;
  }

  @Override
  public Object constantRead(long id, Object constant, String type) {
    if (constant instanceof IMCStackTrace
        || constant instanceof IMCMethod
        || constant instanceof IMCThread
        || constant instanceof IMCType) {
      constants.put(constant, id);
    }
    return constant;
  }

  /** Says which threads' constants are virtual threads: JMC does not read that field. */
  void setVirtual(LongMap threads) {
    virtual = threads;
  }

  int string(String value) {
    if (value == null) {
      return 0;
    }
    if (value == last) { // most events have the state of the one before
      return lastNumber;
    }
    Integer known = strings.get(value);
    if (known == null) {
      out.string(value).end('S');
      known = strings.size() + 1;
      strings.put(value, known);
    }
    last = value;
    lastNumber = known;
    return known;
  }

  int thread(IMCThread thread) {
    if (thread == null) {
      return 0;
    }
    Integer known = threads.get(thread);
    if (known != null) {
      return known;
    }
    int name = string(thread.getThreadName());
    int group = string(thread.getThreadGroup() == null ? null : thread.getThreadGroup().getName());
    Long javaId = thread.getThreadId();
    out.unsigned(constant(thread))
        .unsigned(Names.osId(thread))
        .unsigned(javaId == null ? 0 : javaId)
        .unsigned(name)
        .unsigned(group)
        .unsigned(virtual.contains(constant(thread)) ? 1 : 0)
        .end('H');
    threads.put(thread, threads.size() + 1);
    return threads.size();
  }

  int trace(IMCStackTrace trace) {
    if (trace == null) {
      return 0;
    }
    Integer known = traces.get(trace);
    if (known != null) {
      return known;
    }
    List<? extends IMCFrame> frames = trace.getFrames();
    int size = Math.min(frames.size(), maxFrames);
    int[] numbers = new int[size];
    for (int i = 0; i < size; i++) {
      numbers[i] = method(frames.get(i));
    }
    int flags = trace.getTruncationState().isTruncated() ? TRUNCATED : 0;
    out.unsigned(constant(trace)).unsigned(flags | (size < frames.size() ? CUT : 0)).unsigned(size);
    for (int i = 0; i < size; i++) {
      frame(frames.get(i), numbers[i]);
    }
    out.end('K');
    traces.put(trace, traces.size() + 1);
    return traces.size();
  }

  private void frame(IMCFrame frame, int method) {
    if (frame == null) {
      out.unsigned(0).signed(-1).signed(-1).unsigned(0);
      return;
    }
    out.unsigned(method)
        .signed(orMinusOne(frame.getBCI()))
        .signed(orMinusOne(frame.getFrameLineNumber()))
        .unsigned(FRAME_TYPES.indexOf(frame.getType()) + 1);
  }

  /** Returns the number of a frame's method; 0 where the chunk lacks it. */
  private int method(IMCFrame frame) {
    IMCMethod method = frame == null ? null : frame.getMethod();
    if (method == null) {
      return 0;
    }
    Integer known = methods.get(method);
    if (known != null) {
      return known;
    }
    if (!constants.containsKey(method)) {
      return 0;
    }
    IMCType type = method.getType();
    int typeName = string(Names.of(type));
    int loader = string(Names.loader(type));
    int name = string(method.getMethodName());
    int descriptor = string(method.getFormalDescriptor());
    Integer modifiers = method.getModifier();
    int flags =
        (Boolean.TRUE.equals(method.isHidden()) ? METHOD_HIDDEN : 0)
            | (Boolean.TRUE.equals(type.isHidden()) ? CLASS_HIDDEN : 0);
    out.unsigned(constant(method))
        .unsigned(constant(type))
        .unsigned(typeName)
        .unsigned(loader)
        .unsigned(name)
        .unsigned(descriptor)
        .unsigned(modifiers == null ? 0 : modifiers)
        .unsigned(flags)
        .end('M');
    methods.put(method, methods.size() + 1);
    return methods.size();
  }

  /** Returns the id under which the chunk defines a constant, 0 where it does not. */
  private long constant(Object value) {
    return constants.getOrDefault(value, 0L);
  }

  private static long orMinusOne(Integer value) {
    return value == null ? -1 : value;
  }
}
