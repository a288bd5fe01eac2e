package bundle

import (
	"fmt"
	"slices"
	"strings"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
	"misstep/signature"
)

// observed is what the example of a finding shows: one of the fields, or none when the evidence contains no stacks. All strings but
// Error, Cause, Reason and Meaning are shown as code.
type observed struct {
	Crash    *observedCrash
	Hang     *observedHang
	Mismatch *observedMismatch
	Fault    *observedFault
	Failure  *observedFailure
}

type observedCrash struct {
	Error                    string
	Facts                    []fact
	NativeFrames, JavaFrames []string
}

type fact struct{ Name, Value string }

type observedHang struct {
	Cause   string
	Threads []hungThread
}

type hungThread struct {
	Name                     string
	ID                       uint64
	State                    string
	NativeFrames, JavaFrames []string
}

type observedMismatch struct {
	Meaning, Check, Kind, Thread string
	// Stacks are both traces side by side.
	Stacks string
	// Code at the pc of the top frame; empty when it was not recorded.
	Code string
	// Shadow is set where one of them is the shadow stack, which has the instrumented methods only.
	Shadow bool
}

// observedFailure is how the workload failed.
type observedFailure struct {
	Reason, Message string
	ExitCode        int32
}

// observedFault is what is wrong in a recording by itself.
type observedFault struct{ Meaning, Check, Kind, Place, Detail, First string }

func newObserved(c *Contents) observed {
	example := c.Reproducer.GetFinding().GetExample()
	switch c.Expect.Kind {
	case "crash":
		return observed{Crash: newObservedCrash(example.GetCrash())}
	case "hang":
		return observed{Hang: newObservedHang(example.GetHang())}
	case "failure":
		f := example.GetApplicationFailure()
		return observed{Failure: &observedFailure{markdown(f.GetReason()), code(f.GetMessage()), example.GetExitCode()}}
	}
	if m := chooseFault(example, c.Expect); m != nil {
		return observed{Fault: newObservedFault(m)}
	}
	m := chooseMismatch(example, c.Expect)
	if m == nil {
		return observed{}
	}
	o := &observedMismatch{
		Meaning: kindText(m), Check: m.GetCheck(), Kind: m.GetKind(), Thread: code(m.GetThread()),
		Stacks: sideBySide(m.GetReference(), m.GetSuspect()), Shadow: isShadow(m.GetReference()),
	}
	if len(m.GetCode()) > 0 {
		o.Code = fmt.Sprintf("pc %#x, code at pc: `% x`", m.GetPc(), m.GetCode())
	}
	return observed{Mismatch: o}
}

func newObservedFault(m *misstepv1.Mismatch) *observedFault {
	f := m.GetRecordingFault()
	first := fmt.Sprintf("chunk %d", f.GetChunk())
	if f.GetPosition() != 0 {
		first = fmt.Sprintf("id %d, at byte %d of %s", f.GetId(), f.GetPosition(), first)
	}
	return &observedFault{
		Meaning: recipe.KindMeaning(m.GetKind()), Check: m.GetCheck(), Kind: m.GetKind(), Place: code(signature.RecordedAt(f)),
		Detail: code(f.GetDetail()), First: first,
	}
}

// chooseFault returns the fault of a recording that is expected, else the most frequent one of its check and kind; nil for none.
func chooseFault(o *misstepv1.Outcome, e Expect) (best *misstepv1.Mismatch) {
	for _, m := range o.GetMismatches() {
		f := m.GetRecordingFault()
		if f == nil || m.GetCheck() != e.Check || m.GetKind() != e.MismatchKind {
			continue
		}
		if signature.RecordedAt(f) == e.Fault {
			return m
		}
		if best == nil {
			best = m
		}
	}
	return best
}

func newObservedCrash(crash *misstepv1.Crash) *observedCrash {
	o := &observedCrash{
		Error: markdown(
			crash.GetError(),
		), NativeFrames: codeLines(crash.GetNativeFrames()), JavaFrames: codeLines(crash.GetJavaFrames()),
	}
	for _, f := range []fact{
		{"problematic frame", crash.GetProblematicFrame()},
		{"thread", crash.GetThread()},
		{"walk", walk(crash)},
		{"VM operation", crash.GetVmOperation()},
		{"detail", crash.GetDetail()},
	} {
		if f.Value != "" {
			o.Facts = append(o.Facts, fact{f.Name, code(f.Value)})
		}
	}
	return o
}

// walk describes the walk in which a crash was, according to the flight record; empty for a crash outside of walks.
func walk(c *misstepv1.Crash) string {
	if !c.GetInWalk() {
		return ""
	}
	return fmt.Sprintf("sample %d, phase %s, starting at pc %#x", c.GetSample(), c.GetPhase(), c.GetWalkPc())
}

func newObservedHang(hang *misstepv1.Hang) *observedHang {
	o := &observedHang{Cause: markdown(hang.GetCause())}
	for _, t := range hang.GetThreads()[:min(len(hang.GetThreads()), maxRows)] {
		o.Threads = append(o.Threads, hungThread{
			Name: code(t.GetName()), ID: uint64(t.GetTid()), State: code(t.GetState()),
			NativeFrames: codeLines(t.GetNativeFrames()), JavaFrames: codeLines(t.GetJavaFrames()),
		})
	}
	return o
}

func codeLines(lines []string) []string {
	var all []string
	for _, line := range lines {
		all = append(all, code(line))
	}
	return all
}

// chooseMismatch returns the shortest record that is as expected, or nil. Records without stacks, which an outcome may have, are
// not considered.
func chooseMismatch(o *misstepv1.Outcome, e Expect) *misstepv1.Mismatch {
	var best *misstepv1.Mismatch
	length := func(m *misstepv1.Mismatch) int {
		return m.GetReference().Depth() + m.GetSuspect().Depth()
	}
	fits := func(m *misstepv1.Mismatch) bool {
		not := e.Like
		if m.GetDeoptimisedCaller() != nil {
			not = e.Unlike
		}
		return m.GetCheck() == e.Check && slices.Contains(recordedAs(e.Check, e.MismatchKind), m.GetKind()) &&
			mentions(m, e.Contains) && !slices.Contains(not, deoptimisedCaller)
	}
	for _, m := range o.GetMismatches() {
		if length(m) > 0 && fits(m) && (best == nil || length(m) < length(best)) {
			best = m
		}
	}
	return best
}

// mentions reports whether each text is part of the name of a frame on either side.
func mentions(m *misstepv1.Mismatch, texts []string) bool {
	frames := slices.Concat(m.GetReference().GetFrames(), m.GetSuspect().GetFrames())
	for _, text := range texts {
		named := func(f *misstepv1.Frame) bool { return strings.Contains(method(f), strings.Trim(text, `"`)) }
		if !slices.ContainsFunc(frames, named) {
			return false
		}
	}
	return true
}

func isShadow(t *misstepv1.Trace) bool { return t.GetSource() == "shadow" }

func kindText(m *misstepv1.Mismatch) string {
	reference, suspect := m.GetReference().Depth(), m.GetSuspect().Depth()
	name := sourceName(m.GetSuspect())
	switch m.GetKind() {
	case "truncated":
		text := fmt.Sprintf("%s returned a truncated stack without an error code: %d frames instead of %d.",
			name, suspect, reference)
		if isShadow(m.GetReference()) {
			text = fmt.Sprintf("%s returned a truncated stack without an error code: "+
				"it lacks the oldest of the %d frames on the shadow stack.",
				name, reference)
		}
		if f := m.GetDeoptimisedCaller(); f != nil {
			text += fmt.Sprintf(" The walk ended at the compiled method `%s.%s`, which was deoptimised during a call: "+
				"its return address on the stack is its deoptimisation entry.",
				code(f.GetClassName()), code(f.GetMethod()))
		}
		return text
	case "missing":
		return fmt.Sprintf("%s omitted frames in the middle of the stack.", name)
	case "extra", "foreign":
		return fmt.Sprintf("%s returned frames that are not on the stack.", name)
	case "wrong-method":
		return fmt.Sprintf("%s reported the wrong method.", name)
	case "impossible-edge":
		return fmt.Sprintf("%s returned a frame above one whose bytecode cannot have called it.", name)
	case "wrong-bci":
		return fmt.Sprintf("%s reported the wrong bytecode index.", name)
	default:
		return fmt.Sprintf("%s disagrees with %s.", name, sourceName(m.GetReference()))
	}
}
