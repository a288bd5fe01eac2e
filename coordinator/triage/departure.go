package triage

import (
	"strconv"

	misstepv1 "misstep/proto/misstep/v1"
)

// A walk goes from the top down, so the uppermost place at which it leaves the reference is where it went wrong, and all that differs
// further down is the consequence. That place is named by one method: whom it was called by, what it had called, and what the walker took for
// it, are different each time that the same thing goes wrong.

// departure is the kind and the part for a walk at a method's entry. agree is the uppermost frame down from which the two are equal; it only counts
// when it is native, see edge.
func departure(kind string, ref, sus []*misstepv1.Frame, agree *misstepv1.Frame) (string, string) {
	if native(agree) {
		return kind, edge{caller: agree}.String()
	}
	if len(ref) == 0 || len(sus) == 0 {
		return kind, "the whole stack"
	}
	n := agreed(ref, sus)
	if kind == "foreign" {
		if i := wrongLocation(ref[:n], sus[:n]); i >= 0 {
			return "wrong-bci", name(ref[i])
		}
	}
	kind = shape(kind, ref[n:], sus[n:])
	mine := own(ref)
	if n <= mine && (kind == "foreign" || kind == "extra") {
		if !sameMethod(fromBottom(ref, 0), fromBottom(sus, 0)) {
			return "foreign", "another stack"
		}
		return "foreign", "the top"
	}
	if n < mine {
		return kind, "the top"
	}
	return kind, departed(kind, ref, n)
}

// departed names the place where a walk that has n frames from the top right leaves the reference.
func departed(kind string, ref []*misstepv1.Frame, n int) string {
	if n > 0 && (kind == "extra" || n == len(ref)) {
		return "after " + name(at(ref, n-1))
	}
	return name(at(ref, n))
}

// mostShifted frames, lost or made up at one place, are looked for.
const mostShifted = 8

// shape is the kind of the uppermost difference, where ref and sus begin. What the agent calls foreign is often one lost frame and, far below,
// another fault of its own, such as the end of the walk at a deoptimised caller.
func shape(kind string, ref, sus []*misstepv1.Frame) string {
	if kind != "foreign" {
		return kind
	}
	for n := 1; n <= mostShifted; n++ {
		switch {
		case n < len(sus) && goOn(ref, sus[n:]):
			return "extra"
		case n < len(ref) && goOn(ref[n:], sus):
			return "missing"
		}
	}
	if len(ref) > 1 && len(sus) > 1 {
		switch {
		case goOn(ref[1:], sus[1:]):
			return "wrong-method"
		case sameMethod(ref[0], sus[1]) && sameMethod(ref[1], sus[0]):
			return "swapped"
		}
	}
	return kind
}

// wrongLocation is the uppermost of frames of equal methods that differ in the byte code index, -1 for none.
func wrongLocation(ref, sus []*misstepv1.Frame) int {
	for i, r := range ref {
		if r.GetBci() != sus[i].GetBci() && (!native(r) || !native(sus[i])) {
			return i
		}
	}
	return -1
}

// bottomLost says that a walk has all but the very last frame of a reference that has all.
func bottomLost(ref, sus []*misstepv1.Frame) bool {
	const enough = 3 // in a shorter stack the place above the last frame is as likely to blame
	if len(ref) < enough {
		return false
	}
	return len(sus) == len(ref)-1 && agreed(ref, sus) == len(sus)
}

// among leaves those of sus's frames that are of methods in ref: the reference of a sample has instrumented methods only.
func among(ref, sus []*misstepv1.Frame) (some []*misstepv1.Frame) {
	instrumented := map[string]bool{}
	for _, r := range ref {
		instrumented[name(r)] = true
	}
	for _, f := range sus {
		if instrumented[name(f)] {
			some = append(some, f)
		}
	}
	return some
}

// goOn says that two stacks go on alike for two frames, or as long as they both are.
func goOn(a, b []*misstepv1.Frame) bool {
	n := min(2, len(a), len(b))
	return n > 0 && agreed(a, b) >= n
}

// agreed is the number of frames from the top that are of the same methods.
func agreed(ref, sus []*misstepv1.Frame) int {
	n := 0
	for n < len(ref) && n < len(sus) && sameMethod(ref[n], sus[n]) {
		n++
	}
	return n
}

// own is the number of frames at the top that are the agent's: a check at a method's entry has some, the same each time.
func own(ref []*misstepv1.Frame) int {
	n := 0
	for n < len(ref) && ref[n].GetClassName() == "java.lang.MisstepShadow" {
		n++
	}
	return n
}

// deepEnough is the number of instrumented frames that a sampled walk has right before where the signal hit is not to blame.
const deepEnough = 2

// deep is the kind and the part for a sampled walk that went wrong far below the top frame, an empty part for others. A frame of interpreted
// or native code is one of its own, so a walk that has found two instrumented frames has left behind whatever state the top was in; compiled code
// and stubs on top may stand for any number of frames.
func deep(m *misstepv1.Mismatch) (kind, part string) {
	kind = m.GetKind()
	if !ofItsOwn(m) {
		return kind, ""
	}
	ref, sus := m.GetReference().GetFrames(), m.GetSuspect().GetFrames()
	if kind == "truncated" {
		if len(sus) <= deepEnough {
			return kind, ""
		}
		return kind, "below " + name(fromBottom(sus, 0))
	}
	some := among(ref, sus)
	n := agreed(ref, some)
	// In a recursion the frames from the top may be the same by chance: one that has all but the uppermost lost those.
	if lost := len(ref) - len(some); n < deepEnough || unfinished(m) && lost > 0 && agreed(ref[lost:], some) == len(some) {
		return kind, ""
	}
	kind = shape("foreign", ref[n:], some[n:])
	if kind == "wrong-method" { // by which frame it was replaced depends on which are instrumented
		kind = "missing"
	}
	return kind, departed(kind, ref, n)
}

// ofItsOwn says that the frame on top stands for no other ones.
func ofItsOwn(m *misstepv1.Mismatch) bool {
	return m.GetTopState() == "interpreted" || m.GetTopState() == "native"
}

// code is the part for an answer that is a code and no stack: which one, and where the signal hit. A code that AsyncGetCallTrace does not have
// (HotSpot: share/prims/forte.cpp) is wrong anywhere.
func code(m *misstepv1.Mismatch) string {
	n := m.GetSuspect().GetNumFrames()
	if n > 0 || n < -10 {
		return "no such code"
	}
	part := "code " + strconv.Itoa(int(n))
	if asynchronous(m) {
		part += ", " + top(m)
	}
	return part
}
