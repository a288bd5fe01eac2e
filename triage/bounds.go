package triage

import (
	"fmt"
	"slices"

	misstepv1 "misstep/proto/misstep/v1"
)

// What one mismatch may hold. A runner reads no larger one, and a coordinator refuses it.
const (
	// MaxFrames bounds the frames of a trace, with those that were left out.
	MaxFrames = 1 << 14
	maxGaps   = 16      // of a trace; runners leave at most three
	maxStack  = 1 << 10 // words of the stack
	maxWord   = 1 << 12 // bytes in which a word is described
	maxCode   = 1 << 10 // bytes of machine code at one place; the agent keeps up to 256
	maxName   = 256     // bytes of the names of checks, kinds and states
	maxText   = 1 << 16 // bytes of the names of classes and methods, and of descriptors: the JVM's own bound
)

// Bounded returns in which way a mismatch is larger than any that Misstep makes or not well formed, as what follows "the mismatch";
// nil if it is neither.
func Bounded(m *misstepv1.Mismatch) error {
	if m.GetCheck() == "" || m.GetKind() == "" || len(m.GetCheck()) > maxName || len(m.GetKind()) > maxName {
		return fmt.Errorf("is not well formed: expected a check and a kind of at most %d bytes", maxName)
	}
	if tooDeep(m.GetReference()) || tooDeep(m.GetSuspect()) {
		return fmt.Errorf("has more than %d frames, or gaps that are empty or out of order", MaxFrames)
	}
	if slices.ContainsFunc(framesOf(m), longNames) {
		return fmt.Errorf("has a frame with a name of more than %d bytes", maxText)
	}
	if len(m.GetStack()) > maxStack {
		return fmt.Errorf("has more than %d stack words", maxStack)
	}
	for _, w := range m.GetStack() {
		if len(w.GetCode()) > maxWord {
			return fmt.Errorf("has a stack word described in more than %d bytes", maxWord)
		}
	}
	if len(m.GetCode()) > maxCode || len(m.GetReturnCode()) > maxCode {
		return fmt.Errorf("has more than %d bytes of code", maxCode)
	}
	if len(m.GetTopState()) > maxName || len(m.GetReturnState()) > maxName {
		return fmt.Errorf("has a state of more than %d bytes", maxName)
	}
	return nil
}

// framesOf returns all frames that a mismatch has.
func framesOf(m *misstepv1.Mismatch) []*misstepv1.Frame {
	return slices.Concat(m.GetReference().GetFrames(), m.GetSuspect().GetFrames(),
		[]*misstepv1.Frame{m.GetDeoptimisedCaller(), m.GetTopCall()})
}

func longNames(f *misstepv1.Frame) bool {
	return max(len(f.GetClassName()), len(f.GetMethod()), len(f.GetDescriptor_())) > maxText
}

// tooDeep reports whether a trace has or had too many frames, or gaps that are not in it from the top down.
func tooDeep(t *misstepv1.Trace) bool {
	depth, at := uint64(len(t.GetFrames())), uint32(0)
	for _, gap := range t.GetLeftOut() {
		depth += uint64(gap.GetFrames())
		if gap.GetBefore() < at || int(gap.GetBefore()) > len(t.GetFrames()) || gap.GetFrames() == 0 {
			return true
		}
		at = gap.GetBefore()
	}
	return depth > MaxFrames || len(t.GetLeftOut()) > maxGaps
}
