package samplers

import (
	"encoding/binary"
	"slices"
	"strings"

	"misstep/agent"
	"misstep/runner/recording"
)

// location is a frame as all samplers know it: the number of its method's name, and the line, 0 if unknown. Two methods that differ
// in descriptor or loader only have one name, since a java.lang.StackTraceElement has neither.
type location struct {
	name uint32
	line int32
}

// stack is a stack trace, innermost frame first, without frames that some of the samplers leave out.
type stack []location

// methodName is a class's binary name with dots and a method's name.
type methodName struct{ class, method string }

// stacks keeps each name and each stack once.
type stacks struct {
	names  []methodName
	byName map[methodName]uint32
	all    []stack
	byText map[string]uint32
	text   []byte
	// room is the number of locations that may still be kept.
	room int
}

// mostLocations of all different stacks are kept: about 12 bytes each.
const mostLocations = 1 << 25

func newStacks() *stacks {
	return &stacks{byName: map[methodName]uint32{}, byText: map[string]uint32{}, room: mostLocations}
}

func (s *stacks) location(class, method string, line int32) location {
	name := methodName{withoutNumber(class), method}
	number, known := s.byName[name]
	if !known {
		number = uint32(len(s.names))
		// Not parts of larger strings: a chunk's may be large.
		name = methodName{strings.Clone(name.class), strings.Clone(method)}
		s.names = append(s.names, name)
		s.byName[name] = number
	}
	return location{number, max(line, 0)}
}

// withoutNumber returns the name of a hidden class without the number at its end, which each sampler writes in its own way.
func withoutNumber(class string) string {
	if at := strings.LastIndex(class, "0x"); at > 1 && strings.ContainsRune("/+.", rune(class[at-1])) {
		return class[:at-1]
	}
	return class
}

// keep returns the number of a stack that is not empty; it has none when there is no room left.
func (s *stacks) keep(frames stack) kept {
	if len(frames) == 0 {
		return kept{state: absent}
	}
	s.text = s.text[:0]
	for _, f := range frames {
		s.text = binary.AppendUvarint(binary.AppendUvarint(s.text, uint64(f.name)), uint64(f.line))
	}
	number, known := s.byText[string(s.text)]
	if !known {
		if s.room -= len(frames); s.room < 0 {
			return kept{state: noRoom}
		}
		number = uint32(len(s.all))
		s.all = append(s.all, append(stack(nil), frames...))
		s.byText[string(s.text)] = number
	}
	return kept{stack: number}
}

// nativeDescriptor is what async-profiler gives the native functions in a trace (its src/lookup.cpp).
const nativeDescriptor = "()L;"

// incompleteFrames are the names of the frames, in no class, by which async-profiler says that a trace does not go on (its
// src/profiler.cpp and src/stackWalker.cpp: BCI_ERROR), besides those that begin with "break_".
var incompleteFrames = map[string]bool{
	"unknown": true, "unknown_Java": true, "unknown_nmethod": true, "unknown_state": true, "unexpected_state": true,
	"not_walkable_Java": true, "not_walkable_not_Java": true, "no_Java_frame": true, "GC_active": true, "deoptimization": true,
	"safepoint": true, "skipped": true, "storage_overflow": true, "truncated": true,
}

// recorded returns the stack of an event, and whether it can be judged.
func (s *stacks) recorded(from *recording.Stack) (stack, stackState) {
	if from.Truncated || from.Cut {
		return nil, truncated
	}
	frames := make(stack, 0, len(from.Frames))
	for _, f := range from.Frames {
		m := f.Method
		switch {
		case m == nil:
			return nil, unknownMethod
		case m.Class == "" && (incompleteFrames[m.Name] || strings.HasPrefix(m.Name, "break_")):
			return nil, incomplete
		case m.Hidden || m.ClassHidden || m.Descriptor == nativeDescriptor || leftOut(m.Class, m.Name):
		default:
			frames = append(frames, s.location(m.Class, m.Name, f.Line))
		}
	}
	return frames, usable
}

func (s *stacks) traced(from []agent.StackFrame) stack {
	frames := make(stack, 0, len(from))
	for _, f := range from {
		if !leftOut(f.Class, f.Method) {
			frames = append(frames, s.location(f.Class, f.Method, f.Line))
		}
	}
	return frames
}

// hidden are methods of java.base with the annotation Hidden (JDK 11 to 28, class files) by class, besides those of leftOut.
var hidden = map[string][]string{
	"java.lang.ScopedValue$Carrier":                        {"runWith"},
	"java.lang.Thread":                                     {"runWith"},
	"java.lang.VirtualThread":                              {"postPinnedEvent", "yieldContinuation"},
	"java.lang.VirtualThread$VThreadContinuation$1":        {"run"},
	"java.lang.invoke.Invokers":                            {"checkVarHandleGenericType"},
	"java.lang.invoke.MethodHandleImpl$CountingWrapper":    {"getTarget", "maybeStopCounting"},
	"java.lang.invoke.VarForm":                             {"getMemberName"},
	"java.lang.invoke.MethodHandleImpl":                    methodHandleImpl,
	"java.security.AccessController":                       accessController,
	"jdk.internal.reflect.CsMethodAccessorAdapter":         {"invoke"},
	"jdk.internal.reflect.DirectConstructorHandleAccessor": {"invokeImpl"},
	"jdk.internal.reflect.DirectMethodHandleAccessor":      {"invokeImpl"},
	"jdk.internal.vm.Continuation":                         {"enter", "enter0", "yield", "yield0"},
}

var accessController = []string{"ensureMaterializedForStackWalk", "executePrivileged", "wrapException"}

var methodHandleImpl = []string{
	"guardWithCatch", "isCompileConstant", "loop", "prepend", "profileBoolean", "selectAlternative", "synchronize", "tableSwitch",
	"tryFinally",
}

// leftOut reports whether some samplers show a method and others do not. A Throwable leaves hidden frames out, and
// Thread.getAllStackTraces() shows them (HotSpot javaClasses.cpp: java_lang_Throwable::fill_in_stack_trace; vframe.cpp); JFR marks
// them, async-profiler does not. The shadow stack's methods are the agent's.
func leftOut(class, method string) bool {
	return class == "java.lang.MisstepShadow" ||
		strings.Contains(class, "$$Lambda") || strings.HasPrefix(class, "java.lang.invoke.LambdaForm$") ||
		strings.HasPrefix(class, "java.lang.invoke.") && strings.HasSuffix(class, "$Holder") ||
		class == "java.lang.invoke.VarHandleGuards" || slices.Contains(hidden[class], method)
}
