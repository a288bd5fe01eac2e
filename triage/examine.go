package triage

import (
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
	"misstep/signature"
)

// examine looks at a mismatch once and returns its facts. It is pure.
func examine(m *misstepv1.Mismatch) *Facts {
	names := newNamer()
	return examineStacks(m, names, names.stack(m.GetReference()), names.stack(m.GetSuspect()))
}

// examineStacks is examine of a mismatch whose stacks have their names.
func examineStacks(m *misstepv1.Mismatch, names namer, reference, suspect stack) *Facts {
	f := &Facts{Check: m.GetCheck(), Kind: m.GetKind(), NumFrames: int(m.GetSuspect().GetNumFrames())}
	f.Sampler = m.GetSuspect().GetSampler()
	f.FromSignal = m.GetPc() != 0 || len(m.GetCode()) > 0 || m.GetSuspect().GetAsynchronous()
	if r := m.GetRecordingFault(); r != nil {
		f.Family, f.Recorded = Recording, signature.RecordedAt(r)
		return f
	}
	f.Family = familyOf(f.Check, f.FromSignal)
	f.reference, f.suspect = reference, suspect
	if f.Family == Sample {
		f.suspect, f.Stub, f.Lost = f.suspect.onlyJava()
	}
	f.ReferenceFrames = len(f.reference) + gapsOf(m.GetReference())
	f.SuspectFrames = len(f.suspect) + gapsOf(m.GetSuspect())
	f.examineBottom(m, names)
	f.examineDifference(m)
	f.examineDeparture()
	f.Kept += leftOutWithin(m.GetReference(), f.Right, f.Kept-f.Right)
	f.examineTop(m, names)
	return f
}

// gapsOf returns the number of frames in a trace's gaps.
func gapsOf(t *misstepv1.Trace) int { return t.Depth() - len(t.GetFrames()) }

// leftOutWithin returns the number of frames in the gaps of a trace's first and last frames.
func leftOutWithin(t *misstepv1.Trace, first, last int) int {
	n := 0
	for _, gap := range t.GetLeftOut() {
		if at := int(gap.GetBefore()); at < first || at > len(t.GetFrames())-last {
			n += int(gap.GetFrames())
		}
	}
	return n
}

func familyOf(check string, fromSignal bool) Family {
	switch {
	case check == recipe.AsgctShadow, check == recipe.JfrShadow, check == recipe.ProfilerShadow:
		return Sample
	case check == recipe.Edges, check == recipe.EventEdges:
		return Edge
	case fromSignal:
		return Bracket
	}
	return Entry
}

// examineBottom finds where the suspect ends.
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

// examineDifference finds how far the two stacks agree, and where they part.
func (f *Facts) examineDifference(m *misstepv1.Mismatch) {
	ref, sus := f.reference, f.suspect
	f.Agreed = agreeing(ref, sus)
	f.Divergence = divergence(ref, sus, m.GetDivergence(), f.Kind == wrongIndex)
	f.SameBottom = len(ref) > 0 && len(sus) > 0 && ref.fromBottom(0).same(sus.fromBottom(0))
	f.BottomLost = bottomLost(ref, sus)
	f.Frozen = frozen(ref, sus)
	f.OpenSeam = openSeam(sus)
	f.PartsAtContinuation = sus.fromBottom(f.Divergence).continuation()
	u := f.Divergence
	f.NearTop = u >= len(ref)-2
	switch {
	case f.Family == Sample: // adjacent frames of its reference are not edges
		return
	case f.Family == Edge:
		f.callee, f.caller = sus.fromBottom(u), sus.fromBottom(u-1)
	case f.Kind == truncated:
		// Everything below the last frame of the walk is missing: the walk stopped at the edge below that frame.
		last := lastKept(ref, sus)
		f.callee, f.caller = ref.fromTop(last), ref.fromTop(last+1)
		f.NearTop = last <= 1
		// The right method at a wrong bytecode index: the walk had gone wrong before.
		f.Astray = last >= 0 && otherIndex(ref[last:last+1], sus[len(sus)-1:]) >= 0
	default:
		f.callee, f.caller = ref.fromBottom(u), ref.fromBottom(u-1)
	}
	f.Edge = f.edgePlace(f.callee, f.caller)
	f.NativeCaller = f.caller.native()
	f.CallerWithoutIndex = f.callee != nil && f.caller != nil && f.caller.GetBci() == noIndex
}

// edgePlace returns the place between two frames, with no more detail than distinguishes bugs: for an upcall, the bottom of a
// virtual thread and a call by a native method, it does not matter which class was called and what ran below.
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

// upcallPlace returns the place of a cut at an upcall. The walker of JDK 8 can cross an upcall; it stops there when the method from
// which the VM called was deoptimised.
func (f *Facts) upcallPlace(method string) signature.Place {
	return signature.Place{Kind: signature.Upcall, Method: method, Deoptimised: f.Kind == truncated && f.DeoptimisedCaller != ""}
}

// examineDeparture finds where the walk, from the top down, first leaves the reference. One method names that place: its caller,
// its callee and what the walker found instead differ each time that the same thing goes wrong.
func (f *Facts) examineDeparture() {
	ref, sus := f.reference, f.suspect
	switch f.Family {
	case Edge: // its reference ends at the call
		return
	case Sample:
		sus = onlyMethodsOf(ref, sus)
	}
	n := agreeing(ref, sus)
	f.Kept = n + alikeBelow(ref[n:], sus[n:])
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
	// In a recursion the frames from the top may agree by chance: a walk that has all but the uppermost frames lacks those.
	lost := len(ref) - len(sus)
	f.OnlyTopLost = lost > 0 && agreeing(ref[lost:], sus) == len(sus)
}
