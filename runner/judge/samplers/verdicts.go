package samplers

import (
	"cmp"
	"slices"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
	"misstep/runner/judge"
)

// held is the source of a trace that the workload said to stand still.
const held = "held"

// Figures are the verdicts apart by how they came about.
type Figures struct {
	// Held samples were compared with a stack that stood. Of them Wrong differ, and Edge are tolerated near its begin or end.
	Held, Wrong, Edge uint64
	// Stood samples were compared with another sampler's walk of a thread that did not run in between, or differ from their own
	// sampler's. Of them Unequal differ.
	Stood, Unequal uint64
	// Neighbours were compared with another sampler's samples before and after. Of them Strict do not contain all that these have
	// in common, Tiny have at most a tenth of it, Apart nothing.
	Neighbours, Strict, Tiny, Apart uint64
}

// Verdicts judges the samples. Each has one verdict: that of the stack that stood while it was taken or, where none is known, the
// worst of the comparisons with the other samplers.
func (j *Judge) Verdicts() judge.Verdicts {
	v, _ := j.Figures()
	return v
}

// Figures judges the samples, and returns the figures of each sampler besides.
func (j *Judge) Figures() (judge.Verdicts, map[Sampler]Figures) {
	c := counting{
		count:   &misstepv1.CheckCount{Check: recipe.Samplers, Tolerated: map[string]uint64{}, Void: map[string]uint64{}},
		figures: map[Sampler]Figures{}, byPlace: map[place]*misstepv1.Mismatch{}, most: j.options.Mismatches,
	}
	if j.overrun > 0 {
		c.count.Total, c.count.Void[voidOverrun] = j.overrun, j.overrun
	}
	for _, lanes := range j.lanes() {
		for by := range lanes {
			for i, s := range lanes[by] {
				c.add(j.judge(s, uint64(i), &lanes))
			}
		}
	}
	slices.SortStableFunc(c.mismatches, func(a, b *misstepv1.Mismatch) int { return cmp.Compare(b.GetCount(), a.GetCount()) })
	return judge.Verdicts{Count: c.count, Mismatches: c.mismatches}, c.figures
}

// lanes are the samples of one thread by sampler, ordered by time.
type lanes [samplerCount][]sample

// lanes returns those of each thread.
func (j *Judge) lanes() []lanes {
	all := make([]lanes, len(j.threads))
	for _, s := range j.samples {
		lane := &all[s.thread][s.sampler]
		*lane = append(*lane, s)
	}
	for i := range all {
		for by := range all[i] {
			slices.SortStableFunc(all[i][by], func(a, b sample) int { return cmp.Compare(a.begin, b.begin) })
		}
		all[i].number()
	}
	return all
}

// finding is the verdict on one sample: tolerated by a rule, void for a reason, a mismatch of a kind, or a match.
type finding struct {
	sampler                     Sampler
	rule, reason, kind          string
	standing, stood, neighbours bool
	worst                       relation
	reference, suspect          *misstepv1.Trace
	divergence                  int
	thread                      string
	tid                         int64
	sequence                    uint64
	innerReference, innerSample methodName // at the divergence
}

var reasons = map[stackState]string{
	truncated: voidDepth, absent: voidNoStack, unknownMethod: voidUnknownMethod, incomplete: voidIncomplete,
	noRoom: voidOverrun,
}

func (j *Judge) judge(s sample, sequence uint64, beside *lanes) finding {
	f := finding{sampler: s.sampler, thread: j.threads[s.thread].name, tid: j.threads[s.thread].os, sequence: sequence}
	if j.judgeHeld(&f, s) || j.judgeStood(&f, s, int(sequence), beside) {
		return f
	}
	if s.state != usable {
		f.reason = reasons[s.state]
		return f
	}
	frames := j.stacks.all[s.stack]
	f.reason = voidNoNeighbour
	for by := range beside {
		if Sampler(by) == s.sampler {
			continue
		}
		before, after, ok := neighbours(beside[by], s)
		if !ok {
			continue
		}
		common := commonPart(j.stacks.all[before.stack], j.stacks.all[after.stack])
		if len(common) == 0 {
			if !f.neighbours {
				f.reason = voidNoCommon
			}
			continue
		}
		f.reason = ""
		if r := relate(frames, common); !f.neighbours || r > f.worst {
			f.worst = r
			if r == apart {
				f.kind, f.divergence = apartKind(frames, common), 0
				j.exhibit(&f, frames, common, Sampler(by).String())
			}
		}
		f.neighbours = true
	}
	if f.neighbours {
		f.rule = [...]string{contains: "", shares: ruleBetween, sharesLittle: ruleTiny, apart: ""}[f.worst]
	}
	if f.kind != "" && j.enters(s, beside) {
		f.kind, f.rule = "", ruleAnotherEntry
	}
	return f
}

// judgeHeld judges a sample by the stack that the workload says to have stood; false if there is none.
func (j *Judge) judgeHeld(f *finding, s sample) bool {
	standing, nearEdge, ok := j.standing(j.threads[s.thread].java, s.begin, s.end)
	if !ok || s.state != usable {
		return false
	}
	frames := j.stacks.all[s.stack]
	f.standing = true
	f.kind, f.divergence = stood(frames, standing)
	switch {
	case f.kind != "" && nearEdge && f.divergence > 0:
		f.kind, f.rule = "", ruleSpanEdge
	case f.kind != "":
		j.exhibit(f, frames, standing, held)
	}
	return true
}

// enters reports whether Thread.getAllStackTraces() saw, too, that the bottom of the thread's stack is the sample's: native code
// entered Java more than once.
func (j *Judge) enters(s sample, beside *lanes) bool {
	frames := j.stacks.all[s.stack]
	bottom := frames[len(frames)-1].name
	return s.sampler != AllStackTraces && slices.ContainsFunc(beside[AllStackTraces], func(other sample) bool {
		all := j.stacks.all[other.stack]
		return other.state == usable && all[len(all)-1].name == bottom
	})
}

// neighbours returns the samples right before and after a sample; false if there is none, or if one has no usable stack.
func neighbours(lane []sample, s sample) (before, after sample, ok bool) {
	next, _ := slices.BinarySearchFunc(lane, s.end, func(other sample, at int64) int { return cmp.Compare(other.begin, at) })
	last := next - 1
	for last >= 0 && lane[last].end > s.begin {
		last--
	}
	if last < 0 || next == len(lane) {
		return sample{}, sample{}, false
	}
	before, after = lane[last], lane[next]
	return before, after, before.state == usable && after.state == usable
}

// exhibit keeps the two traces of a mismatch.
func (j *Judge) exhibit(f *finding, frames, reference stack, source string) {
	f.reference, f.suspect = j.trace(reference, source), j.trace(frames, f.sampler.String())
	at := func(s stack) methodName {
		if f.divergence < len(s) {
			return j.stacks.names[s[len(s)-1-f.divergence].name]
		}
		return methodName{}
	}
	f.innerReference, f.innerSample = at(reference), at(frames)
}

func (j *Judge) trace(s stack, source string) *misstepv1.Trace {
	t := &misstepv1.Trace{Source: source, NumFrames: int32(len(s))}
	for _, f := range s {
		name := j.stacks.names[f.name]
		t.Frames = append(t.Frames, &misstepv1.Frame{ClassName: name.class, Method: name.method, Bci: unknownBci})
	}
	return t
}

// unknownBci stands for a bytecode index that a java.lang.StackTraceElement does not have.
const unknownBci = -1

// place tells mismatches apart.
type place struct {
	sampler           Sampler
	kind, source      string
	reference, sample methodName
}

// counting sums up verdicts.
type counting struct {
	count      *misstepv1.CheckCount
	figures    map[Sampler]Figures
	mismatches []*misstepv1.Mismatch
	byPlace    map[place]*misstepv1.Mismatch
	most       int
}

func (c *counting) add(f finding) {
	c.count.Total++
	figures := c.figures[f.sampler]
	switch {
	case f.standing:
		figures.Held++
		if f.kind != "" {
			figures.Wrong++
		}
		if f.rule != "" {
			figures.Edge++
		}
	case f.stood:
		figures.Stood++
		if f.kind != "" {
			figures.Unequal++
		}
	case f.neighbours:
		figures.Neighbours++
		for least, n := range map[relation]*uint64{shares: &figures.Strict, sharesLittle: &figures.Tiny, apart: &figures.Apart} {
			if f.worst >= least {
				*n++
			}
		}
	}
	c.figures[f.sampler] = figures
	switch {
	case f.reason != "":
		c.count.Void[f.reason]++
	case f.rule != "":
		c.count.Tolerated[f.rule]++
	case f.kind == "":
		c.count.Match++
	default:
		c.count.Mismatch++
		c.mismatch(f)
	}
}

func (c *counting) mismatch(f finding) {
	at := place{f.sampler, f.kind, f.reference.GetSource(), f.innerReference, f.innerSample}
	if m := c.byPlace[at]; m != nil {
		m.Count++
		return
	}
	if len(c.mismatches) == c.most {
		return
	}
	m := &misstepv1.Mismatch{
		Check: recipe.Samplers, Kind: f.kind, Reference: f.reference, Suspect: f.suspect, Divergence: uint32(f.divergence),
		Thread: f.thread, Tid: f.tid, Sequence: f.sequence, Count: 1,
	}
	c.byPlace[at] = m
	c.mismatches = append(c.mismatches, m)
}
