package shadow

import "misstep/runner/recording"

// The rules for a trace of the safepoint after the signal (JEP 518).

// safepointBias reports whether the trace may be of the safepoint after the signal: what is above the compiled frame that ran at
// the signal may differ, all below it must agree. Of a stub or C code the compiled caller may be gone, with all that is inlined
// there.
func safepointBias(s *sample) bool {
	if s.biased && outside(s) {
		return moved(s, mostInlined)
	}
	return moved(s, nearby)
}

// outside reports whether the signal hit neither an interpreted frame nor compiled code.
func outside(s *sample) bool { return s.state == stateStub || s.state == stateNative }

// moved reports whether at most so many entries may be gone before the safepoint, and some frames new.
func moved(s *sample, entries int) bool {
	if !s.later || !s.bottom {
		return false
	}
	for i := len(s.stack); i > 0 && i >= len(s.stack)-mostAbove; i-- {
		if align(s.stack[:i], above(s, i), s.shadow, func(n int, _ tolerances) bool {
			return within(s.shadow[n:], s.stack[i:], entries, nearby+1)
		}) {
			return true
		}
	}
	return false
}

// above is the frame above the lowest i, nil for none.
func above(s *sample, i int) *frame {
	if i < len(s.stack) {
		return &s.stack[i]
	}
	return nil
}

// returned reports whether the thread may have returned from one compiled frame before the safepoint, whose poll comes when the
// frame is gone: the trace is the shadow without the newest entries, as many as the frame can stand for.
//
// A trace that begins at an interpreted frame looks the same if HotSpot took an outer interpreted frame for the one on top: in the
// interpreter's entry the frame pointer is still that of whoever used it as one last, maybe many compiled frames below
// (jfrSampleRequest.cpp: build_from_context). Then the sample is not marked as biased. An execution sample has no such mark. But
// the interpreter polls before it takes a frame down, so a thread that ran in it has not left a compiled frame by then.
func returned(s *sample) bool { return s.later && s.bottom && lostOnTop(s) <= mostInlined }

// lostOnTop is the least number of entries on top of the shadow that a trace lacks which has all others and nothing else; more than
// there are where it is no such trace.
func lostOnTop(s *sample) int {
	least := len(s.shadow) + mostInlined + 1
	align(s.stack, nil, s.shadow, func(n int, t tolerances) bool {
		if t&window == 0 {
			least = min(least, len(s.shadow)-n)
		}
		return false
	})
	return least
}

// descended reports whether the thread may have made any number of calls before the safepoint: compiled code polls at returns
// and in loops only, so a recursion goes down a hundred frames without one. All below the first of these calls must agree, and
// of fewer calls the rules for a place nearby decide, or a frame lost on top would look the same. HotSpot takes the safepoint's
// top where the signal hit neither an interpreted frame nor compiled code (jfrSampleRequest.cpp: set_biased_java_sample;
// jfrThreadSampling.cpp: compute_top_frame). Compiled code that was hit is on top itself, or its caller.
func descended(s *sample) bool {
	if !s.later || !s.bottom || s.state == stateCompiled {
		return false
	}
	calls := 0
	for i := len(s.stack) - 1; i > 0; i-- {
		if f := s.stack[i]; f.method != nil && f.key != 0 {
			calls++
		}
		if calls > nearby+1 && align(s.stack[:i], above(s, i), s.shadow, func(n int, _ tolerances) bool {
			return n > 0 && len(s.shadow)-n <= nearby
		}) {
			return true
		}
	}
	return false
}

func interpretedTop(s *sample) bool {
	return len(s.stack) > 0 && s.stack[len(s.stack)-1].kind == recording.Interpreted
}
