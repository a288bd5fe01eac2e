package edges

import (
	"cmp"
	"maps"
	"slices"

	"misstep/agent"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
	"misstep/runner/recording"
)

// mostDistinct bounds the different mismatches that are kept until the most frequent are chosen.
const mostDistinct = 4096

// place is what one record stands for: an impossible edge of one sampler, where the signal hit such code.
type place struct {
	sampler        string
	asynchronous   bool
	callee, caller *method
	bci            int32
	state, code    string
}

// impossible is an impossible edge of an event, the number-th one, whose callee is a frame.
type impossible struct {
	*recording.Event
	frames []frame
	callee int
	number uint64
}

// waiting is an impossible edge of a sample, by its index in the tap's samples.
type waiting struct {
	impossible
	sample int
}

// settle keeps the mismatches of samples, with the place that the signal hit where it is known.
func (j *Judge) settle() {
	if len(j.waiting) == 0 {
		return
	}
	calls := j.taken.Match()
	for _, w := range j.waiting {
		j.keep(w.impossible, calls[w.sample].Call)
	}
	j.waiting = nil
}

// keep keeps a mismatch, the shortest stack of each place. call took the sample, nil where that is not known.
func (j *Judge) keep(e impossible, call *agent.TapCall) {
	sampler, asynchronous := cmp.Or(j.in.Walker, e.Type), j.in.Asynchronous(e.Type)
	caller := e.frames[e.callee+1]
	at := place{
		sampler: sampler, asynchronous: asynchronous, callee: e.frames[e.callee].method, caller: caller.method, bci: caller.bci,
	}
	if call != nil {
		at.state, at.code = call.TopState, string(call.Code)
	}
	old := j.found[at]
	if old == nil && len(j.found) >= mostDistinct {
		return
	}
	count := old.GetCount() + 1
	if old != nil && len(old.GetSuspect().GetFrames()) <= len(e.frames) {
		old.Count = count
		return
	}
	m := e.mismatch(j.in.Profiler)
	m.Suspect.Sampler, m.Suspect.Asynchronous = sampler, asynchronous
	m.Count = count
	if call != nil {
		j.in.Tap.Place(*call, m)
		m.TopCall = callAt(e.frames[0])
	}
	j.found[at] = m
}

// mismatch describes an impossible edge as the agent's check edges does (agent/native/src/edge_check.cpp). The reference is the
// stack up to the caller and, on top, what the bytecode calls there, if anything.
func (e impossible) mismatch(profiler string) *misstepv1.Mismatch {
	m := &misstepv1.Mismatch{
		Check: recipe.EventEdges, Kind: "impossible-edge", Divergence: uint32(len(e.frames) - 1 - e.callee), Sequence: e.number,
		Suspect: &misstepv1.Trace{Source: profiler, Frames: protoFrames(e.frames), NumFrames: int32(len(e.Stack.Frames))},
	}
	if e.Thread != nil {
		m.Thread, m.Tid = e.Thread.Name, e.Thread.OS
	}
	below := protoFrames(e.frames[e.callee+1:])
	if call := callAt(e.frames[e.callee+1]); call != nil {
		below = slices.Insert(below, 0, call)
	}
	m.Reference = &misstepv1.Trace{Source: "bytecode", Frames: below, NumFrames: int32(len(below))}
	return m
}

// callAt returns the method that an invoke at the frame's bytecode index names, nil for none.
func callAt(f frame) *misstepv1.Frame {
	for _, v := range f.versions {
		if t := v.at(f.bci).target; t != nil {
			called := &misstepv1.Frame{Method: t.name, Descriptor_: t.descriptor}
			if t.owner != nil {
				called.ClassName = t.owner.name
			}
			return called
		}
	}
	return nil
}

func protoFrames(frames []frame) []*misstepv1.Frame {
	out := make([]*misstepv1.Frame, len(frames))
	for i, f := range frames {
		out[i] = &misstepv1.Frame{ClassName: f.class, Method: f.name, Descriptor_: f.descriptor, Bci: f.bci}
	}
	return out
}

// mismatches returns the most frequent mismatches, of equally frequent ones the earliest.
func (j *Judge) mismatches() []*misstepv1.Mismatch {
	list := slices.SortedFunc(maps.Values(j.found), func(a, b *misstepv1.Mismatch) int {
		return cmp.Or(cmp.Compare(b.GetCount(), a.GetCount()), cmp.Compare(a.GetSequence(), b.GetSequence()))
	})
	return list[:min(len(list), j.in.Limit)]
}
