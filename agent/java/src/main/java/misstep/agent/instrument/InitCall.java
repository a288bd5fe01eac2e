package misstep.agent.instrument;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Deque;
import java.util.List;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;
import org.objectweb.asm.tree.AbstractInsnNode;
import org.objectweb.asm.tree.FrameNode;
import org.objectweb.asm.tree.InsnList;
import org.objectweb.asm.tree.JumpInsnNode;
import org.objectweb.asm.tree.LabelNode;
import org.objectweb.asm.tree.LookupSwitchInsnNode;
import org.objectweb.asm.tree.MethodInsnNode;
import org.objectweb.asm.tree.MethodNode;
import org.objectweb.asm.tree.TableSwitchInsnNode;
import org.objectweb.asm.tree.TryCatchBlockNode;
import org.objectweb.asm.tree.analysis.Analyzer;
import org.objectweb.asm.tree.analysis.AnalyzerException;
import org.objectweb.asm.tree.analysis.BasicInterpreter;
import org.objectweb.asm.tree.analysis.BasicValue;

/**
 * Finds in a constructor the call of super() or this(), and the instructions that run after it.
 *
 * <p>The arguments of the call may branch, loop, catch and create objects of the same class, so
 * neither the first invokespecial nor the first with the super class as its owner need be it. It is
 * the one whose receiver is the method's own {@code this}, which data flow tells.
 */
final class InitCall {
  /** There is no single such call, or code runs both before and after it. */
  static final class Undetermined extends Exception {
    private static final long serialVersionUID = 1;

    Undetermined(String why) {
      super(why, null, false, false);
    }
  }

  private final MethodNode method;
  private final int index;
  private final BitSet after;

  /**
   * @param owner internal name of the class
   */
  InitCall(String owner, MethodNode method) throws Undetermined {
    this.method = method;
    int straight = straightLine();
    this.index = straight >= 0 ? straight : byDataFlow(owner);
    this.after = reachableAfter();
  }

  /** Index of the call in the instruction list. */
  int index() {
    return index;
  }

  /** Indices of the instructions that run only after the call; the call is not among them. */
  BitSet after() {
    return after;
  }

  /**
   * The quick way, correct for nearly all: as long as nothing branches, the call is the first on an
   * object that was not created by one of the NEW before it. Returns -1 if that does not decide it.
   */
  private int straightLine() {
    int uninitialized = 0;
    int i = 0;
    for (AbstractInsnNode n = method.instructions.getFirst(); n != null; n = n.getNext(), i++) {
      if (n instanceof JumpInsnNode
          || n.getType() == AbstractInsnNode.TABLESWITCH_INSN
          || n.getType() == AbstractInsnNode.LOOKUPSWITCH_INSN
          || n.getOpcode() == Opcodes.ATHROW
          || n.getOpcode() == Opcodes.RETURN) {
        return -1;
      }
      if (n.getOpcode() == Opcodes.NEW) {
        uninitialized++;
      } else if (isInit(n)) {
        if (uninitialized == 0) {
          return i;
        }
        uninitialized--;
      }
    }
    return -1;
  }

  private static boolean isInit(AbstractInsnNode n) {
    return n.getOpcode() == Opcodes.INVOKESPECIAL && ((MethodInsnNode) n).name.equals("<init>");
  }

  /** The value of the constructor's own object: equal to nothing but itself. */
  private static final class This extends BasicValue {
    This(Type type) {
      super(type);
    }

    @Override
    public boolean equals(Object other) {
      return this == other;
    }

    @Override
    public int hashCode() {
      return System.identityHashCode(this);
    }
  }

  /** Follows {@code this} and collects the calls of constructors on it. */
  private static final class Tracker extends BasicInterpreter {
    final List<AbstractInsnNode> calls = new ArrayList<>();

    Tracker() {
      super(Opcodes.ASM9);
    }

    @Override
    public BasicValue newParameterValue(boolean isInstanceMethod, int local, Type type) {
      return isInstanceMethod && local == 0
          ? new This(BasicValue.REFERENCE_VALUE.getType())
          : newValue(type);
    }

    @Override
    public BasicValue naryOperation(AbstractInsnNode n, List<? extends BasicValue> values)
        throws AnalyzerException {
      if (isInit(n) && values.get(0) instanceof This && !calls.contains(n)) {
        calls.add(n);
      }
      return super.naryOperation(n, values);
    }
  }

  private int byDataFlow(String owner) throws Undetermined {
    Tracker tracker = new Tracker();
    try {
      new Analyzer<>(tracker).analyze(owner, method);
    } catch (AnalyzerException e) {
      throw new Undetermined("data flow of the constructor fails: " + e.getMessage());
    }
    if (tracker.calls.size() != 1) {
      throw new Undetermined(tracker.calls.size() + " calls of super() or this()");
    }
    return method.instructions.indexOf(tracker.calls.get(0));
  }

  private BitSet reachableAfter() throws Undetermined {
    BitSet before = reach(0, index);
    BitSet behind = reach(index + 1, -1);
    before.set(index);
    if (before.intersects(behind)) {
      throw new Undetermined("code runs both before and after super() or this()");
    }
    return withDeadCode(before, behind);
  }

  /**
   * The verifier checks dead code, too. Code that follows the call in the file counts as after it,
   * unless its frame has the object uninitialized.
   */
  private BitSet withDeadCode(BitSet before, BitSet behind) {
    BitSet all = new BitSet();
    all.or(behind);
    boolean uninitialized = false;
    InsnList list = method.instructions;
    for (int i = index + 1; i < list.size(); i++) {
      AbstractInsnNode n = list.get(i);
      if (n instanceof FrameNode) {
        List<Object> locals = ((FrameNode) n).local;
        uninitialized = locals != null && locals.contains(Opcodes.UNINITIALIZED_THIS);
      } else if (n.getOpcode() >= 0 && !before.get(i) && !behind.get(i) && !uninitialized) {
        all.set(i);
      }
    }
    return all;
  }

  /** Instructions that can be reached from one, without continuing at the barrier. */
  private BitSet reach(int from, int barrier) {
    InsnList list = method.instructions;
    BitSet seen = new BitSet(list.size());
    Deque<Integer> work = new ArrayDeque<>();
    work.push(from);
    while (!work.isEmpty()) {
      for (int i = work.pop(); i < list.size() && !seen.get(i); i++) {
        seen.set(i);
        AbstractInsnNode n = list.get(i);
        if (n.getOpcode() >= 0) {
          pushHandlers(i, work);
        }
        if (i == barrier) {
          break;
        }
        pushTargets(n, work);
        if (!goesOn(n)) {
          break;
        }
      }
    }
    return seen;
  }

  private void pushHandlers(int i, Deque<Integer> work) {
    InsnList list = method.instructions;
    for (TryCatchBlockNode block : method.tryCatchBlocks) {
      if (list.indexOf(block.start) <= i && i < list.indexOf(block.end)) {
        work.push(list.indexOf(block.handler));
      }
    }
  }

  private void pushTargets(AbstractInsnNode n, Deque<Integer> work) {
    if (n instanceof JumpInsnNode) {
      work.push(method.instructions.indexOf(((JumpInsnNode) n).label));
    } else if (n instanceof TableSwitchInsnNode) {
      TableSwitchInsnNode s = (TableSwitchInsnNode) n;
      pushLabels(s.dflt, s.labels, work);
    } else if (n instanceof LookupSwitchInsnNode) {
      LookupSwitchInsnNode s = (LookupSwitchInsnNode) n;
      pushLabels(s.dflt, s.labels, work);
    }
  }

  private void pushLabels(LabelNode dflt, List<LabelNode> labels, Deque<Integer> work) {
    work.push(method.instructions.indexOf(dflt));
    for (LabelNode label : labels) {
      work.push(method.instructions.indexOf(label));
    }
  }

  /** False if control never continues with the next instruction. */
  private static boolean goesOn(AbstractInsnNode n) {
    int opcode = n.getOpcode();
    return opcode != Opcodes.GOTO
        && opcode != Opcodes.ATHROW
        && opcode != Opcodes.TABLESWITCH
        && opcode != Opcodes.LOOKUPSWITCH
        && !(opcode >= Opcodes.IRETURN && opcode <= Opcodes.RETURN);
  }
}
