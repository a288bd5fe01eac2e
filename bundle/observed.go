package bundle

import (
	"fmt"
	"slices"
	"strings"

	misstepv1 "misstep/proto/misstep/v1"
)

// observed is what the example of a finding shows: one of its fields, or nothing when the evidence holds no stacks. Its strings but
// Error, Cause and Meaning are shown as code.
type observed struct {
	Crash    *observedCrash
	Hang     *observedHang
	Mismatch *observedMismatch
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
}

func newObserved(c *Contents) observed {
	example := c.Reproducer.GetFinding().GetExample()
	switch c.Expect.Kind {
	case "crash":
		return observed{Crash: newObservedCrash(example.GetCrash())}
	case "hang":
		return observed{Hang: newObservedHang(example.GetHang())}
	}
	m := chooseMismatch(example, c.Expect)
	if m == nil {
		return observed{}
	}
	o := &observedMismatch{
		Meaning: kindText(m), Check: m.GetCheck(), Kind: m.GetKind(), Thread: code(m.GetThread()),
		Stacks: sideBySide(m.GetReference(), m.GetSuspect()),
	}
	if len(m.GetCode()) > 0 {
		o.Code = fmt.Sprintf("pc %#x, code at pc: `% x`", m.GetPc(), m.GetCode())
	}
	return observed{Mismatch: o}
}

func newObservedCrash(crash *misstepv1.Crash) *observedCrash {
	o := &observedCrash{
		Error: markdown(crash.GetError()), NativeFrames: codeLines(crash.GetNativeFrames()), JavaFrames: codeLines(crash.GetJavaFrames()),
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

// walk says in which walk a crash was, by the flight record, empty for one outside.
func walk(c *misstepv1.Crash) string {
	if !c.GetInWalk() {
		return ""
	}
	return fmt.Sprintf("sample %d in phase %s, from pc %#x", c.GetSample(), c.GetPhase(), c.GetWalkPc())
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

// chooseMismatch takes the record that fits what is expected and is shortest to read. An outcome may have left out the stacks of others.
func chooseMismatch(o *misstepv1.Outcome, e Expect) *misstepv1.Mismatch {
	var best *misstepv1.Mismatch
	length := func(m *misstepv1.Mismatch) int {
		return len(m.GetReference().GetFrames()) + len(m.GetSuspect().GetFrames())
	}
	fits := func(m *misstepv1.Mismatch) bool {
		not := e.Like
		if m.GetDeoptimisedCaller() != nil {
			not = e.Unlike
		}
		return m.GetCheck() == e.Check && slices.Contains(recordedAs(e.Check, e.MismatchKind), m.GetKind()) && mentions(m, e.Contains) && !slices.Contains(not, deoptimisedCaller)
	}
	for _, m := range o.GetMismatches() {
		if length(m) > 0 && fits(m) && (best == nil || length(m) < length(best)) {
			best = m
		}
	}
	return best
}

func mentions(m *misstepv1.Mismatch, texts []string) bool {
	for _, text := range texts {
		found := false
		for _, f := range append(m.GetReference().GetFrames()[:len(m.GetReference().GetFrames()):len(m.GetReference().GetFrames())], m.GetSuspect().GetFrames()...) {
			found = found || strings.Contains(f.GetClassName()+"."+f.GetMethod()+f.GetDescriptor_(), strings.Trim(text, `"`))
		}
		if !found {
			return false
		}
	}
	return true
}

func kindText(m *misstepv1.Mismatch) string {
	reference, suspect := len(m.GetReference().GetFrames()), len(m.GetSuspect().GetFrames())
	name := sourceNames[m.GetSuspect().GetSource()]
	switch m.GetKind() {
	case "truncated":
		text := fmt.Sprintf("%s lost the bottom of the stack, without an error code: it gave %d frames where there are %d.", name, suspect, reference)
		if f := m.GetDeoptimisedCaller(); f != nil {
			text += fmt.Sprintf(" It ended at the compiled code of `%s.%s`, which was deoptimised while it was calling: its return address on the stack is its deoptimisation entry.",
				code(f.GetClassName()), code(f.GetMethod()))
		}
		return text
	case "missing":
		return fmt.Sprintf("%s left frames out in the middle.", name)
	case "extra", "foreign":
		return fmt.Sprintf("%s gave frames that are not on the stack.", name)
	case "wrong-method":
		return fmt.Sprintf("%s named the wrong method.", name)
	case "impossible-edge":
		return fmt.Sprintf("%s gave a frame above one whose bytecode cannot have called it.", name)
	case "wrong-bci":
		return fmt.Sprintf("%s gave the wrong bytecode index.", name)
	default:
		return fmt.Sprintf("%s is not what %s says.", name, sourceNames[m.GetReference().GetSource()])
	}
}
