package shadow

import (
	"slices"

	"misstep/runner/recording"
)

// Rules by which a difference is tolerated (recipe: words.go).
const (
	ruleConstructor = "constructor-prologue"
	ruleWindow      = "push-pop-window"
	ruleNameless    = "null-method-id"
	ruleInline      = "inline-imprecision"
	ruleTop         = "top-frame-missing"
	ruleDepth       = "depth-limit"
	ruleSafepoint   = "safepoint-bias"
)

// Reasons for which a sample is void.
const (
	voidVirtual = "virtual-thread"
	voidDepth   = "depth"
	voidSlot    = "no-slot"
	voidMethod  = "unknown-method"
	voidClock   = "clock"
)

// mostInlined is the number of methods that one compiled frame can stand for: HotSpot's MaxInlineLevel and the method itself.
const mostInlined = 16

// sample is one recorded trace and the shadow of the same instant.
type sample struct {
	shadow []uint32 // keys, outermost first
	stack  []frame  // outermost first
	// cut says that the recorder left out outer frames.
	cut bool
	// later says that the thread may have walked its stack at a safepoint after the signal (JEP 518), biased that the recorder says
	// that the top is the safepoint's.
	later, biased bool
	// carrier says that virtual threads were mounted on the thread.
	carrier bool
	// bottom says that the outermost frame is one at which a trace of this thread that matched ended, or that none has matched.
	bottom bool
}

// verdict is the result of one comparison: exactly one of its parts is set, none for a match.
type verdict struct {
	rule, void, kind string
	unwalkable       bool
	code             int32
	// at is the index of the first difference from the bottom of the shadow.
	at int
}

// compare holds a trace against the shadow.
func compare(s *sample) verdict {
	if s.cut {
		return compareCut(s)
	}
	if t, ok := alignAll(s.stack, s.shadow); ok {
		return verdict{rule: t.rule()}
	}
	switch {
	case s.carrier:
		return verdict{void: voidVirtual}
	case inlineImprecision(s):
		return verdict{rule: ruleInline}
	case topFrameMissing(s):
		return verdict{rule: ruleTop}
	case safepointBias(s):
		return verdict{rule: ruleSafepoint}
	}
	keys := sureKeys(s.stack)
	if slices.Equal(keys, s.shadow) { // some frame is certain to be there, and another one is not: it is the one on top
		return verdict{kind: extra, at: len(keys)}
	}
	kind, at := classify(s.shadow, keys)
	if kind == truncated && at == len(s.shadow) && s.bottom && len(s.stack) > 0 {
		return verdict{kind: missing} // the thread's bottom is there: it is the top that was lost
	}
	return verdict{kind: kind, at: at}
}

// compareCut holds a trace without its outer frames against the shadow: it must be its upper part.
func compareCut(s *sample) verdict {
	for lost := range len(s.shadow) + 1 {
		upper := *s
		upper.shadow = s.shadow[lost:]
		if _, ok := alignAll(s.stack, upper.shadow); ok {
			return verdict{rule: ruleDepth}
		}
	}
	return verdict{void: voidDepth}
}

// topGroup is the number of frames on top that are one compiled frame; 0 where the top is not compiled code.
func topGroup(stack []frame) int {
	for k := 1; k <= min(len(stack), mostInlined); k++ {
		switch stack[len(stack)-k].kind {
		case recording.Inlined:
		case recording.Compiled, recording.UnknownFrame: // async-profiler's "C1 compiled" is no kind of JFR's
			return k
		default:
			return 0
		}
	}
	return 0
}

// inlineImprecision reports whether the trace may show another position of the compiled code on top than the one that runs: debug
// info is exact at its entries only (HotSpot: nmethod::pc_desc_near). Below that frame everything must agree, and what is left of
// the shadow must begin with the method that was compiled, if it has an entry, and be as many as one frame can stand for.
func inlineImprecision(s *sample) bool {
	k := topGroup(s.stack)
	if k == 0 {
		return false
	}
	root := &s.stack[len(s.stack)-k]
	return align(s.stack[:len(s.stack)-k], root, s.shadow, func(n int, _ tolerances) bool {
		rest := s.shadow[n:]
		if len(rest) > mostInlined {
			return false
		}
		return len(rest) == 0 || root.method == nil || root.key == 0 || rest[0] == root.key
	})
}

// topFrameMissing reports whether all that the trace lacks is one method on top: in the entry of the interpreter, of a stub or of a
// native function the frame pointer is still the caller's (JDK-8178287).
func topFrameMissing(s *sample) bool {
	return s.bottom && align(s.stack, nil, s.shadow, func(n int, t tolerances) bool {
		return t&window == 0 && len(s.shadow)-n == 1
	})
}

// safepointBias reports whether the trace may be of the safepoint after the signal: what is above the compiled frame that ran at the
// signal may differ, all below it must agree.
func safepointBias(s *sample) bool {
	if !s.later || !s.bottom {
		return false
	}
	for i := len(s.stack); i > 0; i-- {
		var callee *frame
		if i < len(s.stack) {
			callee = &s.stack[i]
		}
		if align(s.stack[:i], callee, s.shadow, func(n int, _ tolerances) bool { return len(s.shadow)-n <= mostInlined }) {
			return true
		}
	}
	return false
}
