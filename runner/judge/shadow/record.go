package shadow

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	misstepv1 "misstep/proto/misstep/v1"
)

// mostDistinct bounds the different mismatches that are kept until the most frequent are chosen.
const mostDistinct = 4096

// add counts the verdict of an event.
func (j *Judge) add(i int, s judged) {
	j.count.Total++
	switch v := s.verdict; {
	case v.kind != "":
		j.count.Mismatch++
		j.keep(i, s)
	case v.rule != "":
		j.count.Tolerated[v.rule]++
	case v.void != "":
		j.count.Void[v.void]++
	case v.unwalkable:
		j.count.Unwalkable[v.code]++
	default:
		j.count.Match++
	}
}

// keep keeps a mismatch, one for equal stacks of a sampler.
func (j *Judge) keep(i int, s judged) {
	m := j.mismatch(i, s)
	k := textOf(m)
	switch old, seen := j.seen[k]; {
	case seen:
		old.Count++
	case len(j.seen) < mostDistinct:
		j.seen[k] = m
	}
}

// mismatch describes an event that is one.
func (j *Judge) mismatch(i int, s judged) *misstepv1.Mismatch {
	e := j.taken.Events[i]
	m := &misstepv1.Mismatch{
		Check: j.in.Check, Kind: s.kind, Divergence: uint32(s.at), Sequence: uint64(i + 1), Count: 1,
		Reference: &misstepv1.Trace{Source: "shadow", NumFrames: int32(len(s.shadow))},
		Suspect:   &misstepv1.Trace{Source: string(j.in.Source), Sampler: j.samplerOf(e), NumFrames: int32(len(e.Stack.Frames))},
	}
	j.in.Tap.Place(*s.call, m)
	if e.Thread != nil {
		m.Thread = e.Thread.Name
	}
	for _, key := range slices.Backward(s.shadow) {
		m.Reference.Frames = append(m.Reference.Frames, frameOf(j.methods.names[key]))
	}
	for _, f := range e.Stack.Frames {
		out := &misstepv1.Frame{Bci: f.BCI}
		if f.Method != nil {
			out.ClassName, out.Method, out.Descriptor_ = f.Method.Class, f.Method.Name, f.Method.Descriptor
		}
		m.Suspect.Frames = append(m.Suspect.Frames, out)
	}
	return m
}

// textOf is equal for mismatches that are the same but for where and when they were seen.
func textOf(m *misstepv1.Mismatch) string {
	var b strings.Builder
	fmt.Fprintln(&b, m.GetSuspect().GetSampler(), m.GetKind(), m.GetDivergence())
	for _, t := range []*misstepv1.Trace{m.GetReference(), m.GetSuspect()} {
		for _, f := range t.GetFrames() {
			fmt.Fprintln(&b, f.GetClassName(), f.GetMethod(), f.GetDescriptor_())
		}
		fmt.Fprintln(&b)
	}
	return b.String()
}

// mismatches returns the most frequent mismatches, of equally frequent ones the earliest.
func (j *Judge) mismatches() []*misstepv1.Mismatch {
	list := slices.SortedFunc(maps.Values(j.seen), func(a, b *misstepv1.Mismatch) int {
		return cmp.Or(cmp.Compare(b.GetCount(), a.GetCount()), cmp.Compare(a.GetSequence(), b.GetSequence()))
	})
	return list[:min(len(list), j.in.Limit)]
}

// frameOf parses the name of a method, "package/Class.name(descriptor)result".
func frameOf(name string) *misstepv1.Frame {
	head, rest, found := strings.Cut(name, "(")
	dot := strings.LastIndexByte(head, '.')
	f := &misstepv1.Frame{ClassName: strings.ReplaceAll(head[:max(dot, 0)], "/", "."), Method: head[dot+1:]}
	if found {
		f.Descriptor_ = "(" + rest
	}
	return f
}
