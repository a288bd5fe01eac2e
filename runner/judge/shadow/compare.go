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
	ruleIndexless   = "deoptimised-index"
	ruleInline      = "inline-imprecision"
	ruleTop         = "top-frame-missing"
	ruleDepth       = "depth-limit"
	ruleSafepoint   = "safepoint-bias"
)

// What a signal hits, as a tap names it.
const (
	stateInterpreted = "interpreted"
	stateCompiled    = "compiled"
	stateStub        = "stub"
	stateNative      = "native"
)

// Reasons for which a sample is void.
const (
	voidVirtual = "virtual-thread"
	voidDepth   = "depth"
	voidShadow  = "no-shadow"
	voidMethod  = "unknown-method"
	// voidUndecided is of execution samples that may be of the safepoint, or wrong.
	voidUndecided = "undecided"
)

const (
	// mostInlined is the number of methods that one compiled frame can stand for: HotSpot's MaxInlineLevel and the method itself.
	mostInlined = 16
	// nearby is the number of entries, and of frames, by which a trace of a place a little off may differ on top. Measured are up
	// to 3 (docs/figures/0013-recordings.md).
	nearby = 4
	// mostAbove bounds the frames, instrumented or not, that are entered between a signal and the next safepoint.
	mostAbove = 64
)

// inlinedKind is the JDK from which on JFR's frames say that they are inlined, of those that were seen: 11 does not
// (jfrStackTrace.cpp), 17 does.
const inlinedKind = 17

// sample is one recorded trace and the shadow of the same instant.
type sample struct {
	shadow []uint32 // keys, outermost first
	stack  []frame  // outermost first
	// cut says that the recorder left out outer frames.
	cut bool
	// kinds says that the frames' kinds tell which of them are one compiled frame; oneKind that inlined frames have that of the
	// compiled one, so that the code which the signal hit tells.
	kinds, oneKind bool
	// later says that the top may be of the safepoint after the signal at which the thread walked its stack (JEP 518), biased that
	// the recorder says that it is.
	later, biased bool
	// state is what the signal hit (agent.TapCall.TopState), code the compiled method; empty where that is not known or none.
	state, code string
	// stranger is the name of a thread that never runs Java; empty for all others.
	stranger string
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
	if s.stranger != "" {
		return strange(s)
	}
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
	case returned(s) && (s.biased || !interpretedTop(s)):
		return verdict{rule: ruleSafepoint}
	case returned(s) && (s.state != stateInterpreted || lostOnTop(s) <= nearby):
		return verdict{void: voidUndecided}
	case descended(s) && s.biased:
		return verdict{rule: ruleSafepoint}
	case descended(s), outside(s) && moved(s, mostInlined): // an execution sample, which has no mark
		return verdict{void: voidUndecided}
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

// topGroups are the numbers of frames on top that may be one compiled frame; none where the top is not compiled code.
func topGroups(s *sample) (sizes []int) {
	for k := 1; k <= min(len(s.stack), mostInlined); k++ {
		root := s.stack[len(s.stack)-k]
		switch root.kind {
		case recording.Inlined:
			if !s.kinds {
				sizes = append(sizes, k)
			}
		case recording.Compiled, recording.UnknownFrame: // async-profiler's "C1 compiled" is no kind of JFR's
			if s.oneKind && (root.method == nil || root.name != s.code) {
				continue
			}
			sizes = append(sizes, k)
			if s.kinds {
				return sizes
			}
		default:
			return sizes
		}
	}
	return sizes
}

// inlineImprecision reports whether the trace may show another position of the compiled code on top than the one that runs: debug
// info is exact at its entries only (HotSpot: nmethod::pc_desc_near), and without any the walker names the compiled method alone,
// at index 0. Below that frame everything must agree, and what is left of the shadow must begin with the method that was compiled,
// if it has an entry.
func inlineImprecision(s *sample) bool {
	if !s.bottom {
		return false
	}
	for _, k := range topGroups(s) {
		below := s.stack[:len(s.stack)-k]
		root := &s.stack[len(below)]
		if align(below, root, s.shadow, func(n int, _ tolerances) bool {
			rest := s.shadow[n:]
			if len(rest) > 0 && root.key != 0 && rest[0] != root.key {
				return false
			}
			alone := k == 1 && root.bci == 0
			upper := s.stack[len(below):]
			return alone && len(rest) <= mostInlined || within(rest, upper, nearby, framesOff(s, root)) ||
				elsewhere(s, root, rest, upper)
		}) {
			return true
		}
	}
	return false
}

// framesOff is the number of frames on top, inlined into root, that a trace may have of another position: where the frames' kinds
// tell what is inlined and the signal hit the code of root, whatever that can stand for. Five were seen, in AsyncGetCallTrace's
// answer of the same instant, too (docs/figures/0013-recordings.md).
func framesOff(s *sample, root *frame) int {
	if hit(s, root) {
		return mostInlined
	}
	return nearby + 1
}

// hit reports whether the signal hit the code of root, and the frames' kinds tell what is inlined there.
func hit(s *sample, root *frame) bool { return s.kinds && root.method != nil && root.name == s.code }

// elsewhere reports whether a trace may be of another place of the compiled code that the signal hit, further off than nearby: all
// that is inlined comes from one record of debug info, of this place or of another one. In a recursion the frames of two places may
// look like a trace with some missing, but then the newest one is right: here it is not (docs/figures/0013-recordings.md).
func elsewhere(s *sample, root *frame, rest []uint32, upper []frame) bool {
	keys := keysOf(upper)
	if !hit(s, root) || len(rest) == 0 || len(keys) < 2 || keys[len(keys)-1] == rest[len(rest)-1] {
		return false
	}
	rest, keys = apart(rest, keys)
	return len(rest) <= mostInlined && len(keys) <= mostInlined && !thinned(rest, keys)
}

// within reports whether the upper parts of a shadow and of a trace may be of two places of which the thread can get from one to
// the other at once, with at most so many entries and frames. They are not where one of them is the other without some: frames are
// missing, or too many.
func within(rest []uint32, upper []frame, mostEntries, mostFrames int) bool {
	rest, keys := apart(rest, keysOf(upper))
	if len(rest) > mostEntries || len(keys) > mostFrames {
		return false
	}
	return !thinned(rest, keys) && (len(keys) == 0 || !thinned(rest, keys[:len(keys)-1]))
}

// keysOf are the instrumented methods of some frames.
func keysOf(frames []frame) []uint32 {
	keys := make([]uint32, 0, len(frames))
	for i := range frames {
		if frames[i].method != nil && frames[i].key != 0 {
			keys = append(keys, frames[i].key)
		}
	}
	return keys
}

// apart leaves out what two places have in common: inlined methods around both are no difference, however many.
func apart(a, b []uint32) (_, _ []uint32) {
	common := 0
	for common < min(len(a), len(b)) && a[common] == b[common] {
		common++
	}
	return a[common:], b[common:]
}

// thinned reports whether one of two sequences is the other without some of it, and neither is empty.
func thinned(a, b []uint32) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(a) == 0 || len(a) == len(b) {
		return false
	}
	for _, v := range b {
		if len(a) > 0 && v == a[0] {
			a = a[1:]
		}
	}
	return len(a) == 0
}

// topFrameMissing reports whether all that the trace lacks is one method on top: in the entry of the interpreter, of a stub or of a
// native function the frame pointer is still the caller's (JDK-8178287).
func topFrameMissing(s *sample) bool {
	return s.bottom && align(s.stack, nil, s.shadow, func(n int, t tolerances) bool {
		return t&window == 0 && len(s.shadow)-n == 1
	})
}
