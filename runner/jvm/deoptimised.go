package jvm

import (
	"slices"

	misstepv1 "misstep/proto/misstep/v1"
)

// maxInlinedCallers bounds the frames that the compiled code of a caller stands for, from the one that called on.
const maxInlinedCallers = 32

// cutBelow is where a walk ended: at a method of a thread.
type cutBelow struct {
	tid    int64
	method method
}

type method struct{ class, name, descriptor string }

func methodOf(f *misstepv1.Frame) method {
	return method{f.GetClassName(), f.GetMethod(), f.GetDescriptor_()}
}

// noteDeoptimised tells mismatches of recordings that a caller was deoptimised while it was calling. The tap has no words of the
// stack. But where AsyncGetCallTrace's walk of the same thread ended at the same callee, the agent found that caller's
// deoptimisation entry in place of the return address: until the callee returns, every walk meets it there.
func noteDeoptimised(mismatches []*misstepv1.Mismatch) {
	callers := map[cutBelow][]*misstepv1.Frame{}
	for _, m := range mismatches {
		if frames := m.GetSuspect().GetFrames(); m.GetDeoptimisedCaller() != nil && len(frames) > 0 {
			at := cutBelow{m.GetTid(), methodOf(frames[len(frames)-1])}
			callers[at] = append(callers[at], m.GetDeoptimisedCaller())
		}
	}
	for _, m := range mismatches {
		frames := m.GetSuspect().GetFrames()
		callee := len(frames) - 1
		if m.GetKind() == "impossible-edge" {
			callee -= int(m.GetDivergence())
		} else if m.GetKind() != "truncated" {
			continue
		}
		if consumers[m.GetCheck()] == nil || m.GetDeoptimisedCaller() != nil || callee < 0 {
			continue
		}
		below := frames[callee+1 : min(len(frames), callee+1+maxInlinedCallers)]
		for _, caller := range callers[cutBelow{m.GetTid(), methodOf(frames[callee])}] {
			there := func(f *misstepv1.Frame) bool { return methodOf(f) == methodOf(caller) }
			if len(below) == 0 || slices.ContainsFunc(below, there) {
				m.DeoptimisedCaller = caller
				break
			}
		}
	}
}
