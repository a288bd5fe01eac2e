package triage

import (
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
	"misstep/signature"
)

// examine looks at a mismatch once and returns its facts. It is pure.
func examine(m *misstepv1.Mismatch) *Facts {
	f := &Facts{Check: m.GetCheck(), Kind: m.GetKind(), NumFrames: int(m.GetSuspect().GetNumFrames())}
	f.FromSignal = m.GetPc() != 0 || len(m.GetCode()) > 0
	f.Family = familyOf(f.Check, f.FromSignal)
	names := newNamer()
	f.reference, f.suspect = names.stack(m.GetReference()), names.stack(m.GetSuspect())
	f.ReferenceFrames, f.SuspectFrames = len(f.reference), len(f.suspect)
	f.examineBottom(m, names)
	f.examineDifference(m)
	f.examineDeparture()
	f.examineTop(m, names)
	return f
}

func familyOf(check string, fromSignal bool) Family {
	switch {
	case check == recipe.AsgctShadow:
		return Sample
	case check == recipe.Edges:
		return Edge
	case fromSignal:
		return Bracket
	}
	return Entry
}

// examineBottom finds what the suspect ends at.
func (f *Facts) examineBottom(m *misstepv1.Mismatch, names namer) {
	bottom := f.suspect.fromBottom(0)
	if bottom != nil {
		f.Bottom = bottom.name()
	}
	f.Upcall, f.UpcallAbove = bottom.upcall(), f.suspect.fromBottom(1).upcall()
	f.BottomLinker = bottom.linker()
	f.BottomContinuation = bottom.continuation()
	f.ConstructsThrowable = bottom.constructsThrowable()
	f.ThrownByVM = bottom.constructsForVM() && (!f.FromSignal || enteredFromVM(m.GetStack()))
	if caller := names.frame(m.GetDeoptimisedCaller()); caller != nil {
		f.DeoptimisedCaller = caller.name()
	}
}

// examineDifference finds how the two stacks are alike, and where they part.
func (f *Facts) examineDifference(m *misstepv1.Mismatch) {
	ref, sus := f.reference, f.suspect
	f.Agreed = agreeing(ref, sus)
	f.Divergence = divergence(ref, sus, m.GetDivergence(), f.Kind == wrongIndex)
	f.SameBottom = len(ref) > 0 && len(sus) > 0 && ref.fromBottom(0).same(sus.fromBottom(0))
	f.BottomLost = bottomLost(ref, sus)
	f.Frozen = frozen(ref, sus)
	f.PartsAtContinuation = sus.fromBottom(f.Divergence).continuation()
	u := f.Divergence
	f.NearTop = u >= len(ref)-2
	switch {
	case f.Family == Sample: // neighbours in its reference are no edges
		return
	case f.Family == Edge:
		f.callee, f.caller = sus.fromBottom(u), sus.fromBottom(u-1)
	case f.Kind == truncated:
		// Everything below the last frame that the walk has is lost: the edge below it is where it stopped.
		last := lastKept(ref, sus)
		f.callee, f.caller = ref.fromTop(last), ref.fromTop(last+1)
		f.NearTop = last <= 1
		// The right method at a wrong place: the walk had lost its way before.
		f.Astray = last >= 0 && otherIndex(ref[last:last+1], sus[len(sus)-1:]) >= 0
	default:
		f.callee, f.caller = ref.fromBottom(u), ref.fromBottom(u-1)
	}
	f.Edge = f.edgePlace(f.callee, f.caller)
	f.NativeCaller = f.caller.native()
	f.CallerWithoutIndex = f.callee != nil && f.caller != nil && f.caller.GetBci() == noIndex
}

// edgePlace is the place where two frames meet, and says as little as tells bugs apart: of what the VM called itself, of a
// virtual thread's end and of what a native method called, whose class it was and what ran below does not matter.
func (f *Facts) edgePlace(callee, caller *frame) signature.Place {
	switch upcall := callee.upcall(); {
	case upcall != "":
		return f.upcallPlace(upcall)
	case callee.continuation() || caller.continuation():
		return signature.Place{Kind: signature.Continuation}
	case caller.native():
		return signature.Place{Kind: signature.NativeCaller, Method: caller.name()}
	}
	return signature.Place{Kind: signature.Edge, Method: callee.name(), Caller: caller.name()}
}

// upcallPlace is the place of a cut at an upcall. The walker of 8 gets over one; what stops it there is that the method from
// which the VM called was deoptimised.
func (f *Facts) upcallPlace(method string) signature.Place {
	return signature.Place{Kind: signature.Upcall, Method: method, Deoptimised: f.Kind == truncated && f.DeoptimisedCaller != ""}
}

// examineDeparture finds where the walk, from the top down, first leaves the reference. That place is named by one
// method: whom it was called by, what it had called, and what the walker took for it, are different each time that the
// same thing goes wrong.
func (f *Facts) examineDeparture() {
	ref, sus := f.reference, f.suspect
	switch f.Family {
	case Edge: // its reference ends where the call is
		return
	case Sample:
		sus = among(ref, sus)
	}
	n := agreeing(ref, sus)
	f.Right, f.Shape, f.AgentFrames = n, f.Kind, leadingAgents(ref)
	if f.Family == Sample || f.Kind == foreign {
		f.Shape = shape(ref[n:], sus[n:])
	}
	if n > 0 && (f.Shape == extra || n == len(ref)) {
		f.Departure = signature.Place{Kind: signature.AfterMethod, Method: ref[n-1].name()}
	} else {
		f.Departure = signature.Place{Kind: signature.AtMethod, Method: ref.fromTop(n).name()}
	}
	if i := otherIndex(ref[:n], sus[:n]); i >= 0 {
		f.OtherIndex = ref[i].name()
	}
	// In a recursion the frames from the top may be the same by chance: a walk that has all but the uppermost lost
	// those.
	lost := len(ref) - len(sus)
	f.OnlyTopLost = lost > 0 && agreeing(ref[lost:], sus) == len(sus)
}
