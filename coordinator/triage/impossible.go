package triage

import misstepv1 "misstep/proto/misstep/v1"

// locateImpossible locates a mismatch of the check edges. Its reference is the stack up to the caller and what the caller's bytecode
// calls there. In a sampled walk the frames above the caller come from wherever the walker read: what tells bugs apart is where the
// signal hit. A walk at a safepoint has no such place, so the edge itself is named.
func locateImpossible(m *misstepv1.Mismatch) (part, what string) {
	sus := m.GetSuspect().GetFrames()
	u := diverge(m, m.GetReference().GetFrames(), sus)
	e := edge{fromBottom(sus, u), fromBottom(sus, u-1)}
	if !asynchronous(m) {
		return e.String(), e.what()
	}
	if e.callee != nil && e.caller != nil && e.caller.GetBci() == entryLocation && !unfinished(m) {
		return noIndex, noIndex + " (" + name(e.callee) + " from " + name(e.caller) + ")"
	}
	here := top(m)
	return here, here + " (" + name(e.callee) + " from " + name(e.caller) + ")"
}

// noIndex is the part for an edge whose caller has entryLocation in place of a bytecode index: HotSpot's InvocationEntryBci, which no call has. On 8 all
// samples of some code that C2 compiled have it for the caller of what is inlined there.
const (
	noIndex       = "caller without an index"
	entryLocation = -1
)
