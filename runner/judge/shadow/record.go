package shadow

import (
	"fmt"
	"strings"

	misstepv1 "misstep/proto/misstep/v1"
)

// add counts a verdict.
func (j *Judge) add(e *event, s judged, v verdict) {
	j.count.Total++
	switch {
	case v.kind != "":
		j.count.Mismatch++
		j.record(e, s, v)
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

// record keeps a mismatch, once for equal ones.
func (j *Judge) record(e *event, s judged, v verdict) {
	m := &misstepv1.Mismatch{
		Check: j.in.Check, Kind: v.kind, Divergence: uint32(v.at), Thread: e.Thread.Name, Tid: int64(e.tid),
		Pc: s.call.PC, Sp: s.call.SP, Fp: s.call.FP, Count: 1,
		Reference: &misstepv1.Trace{Source: "shadow", NumFrames: int32(len(s.shadow))},
		Suspect:   &misstepv1.Trace{Source: string(j.in.Source), NumFrames: int32(len(s.stack))},
	}
	for i := len(s.shadow) - 1; i >= 0; i-- {
		m.Reference.Frames = append(m.Reference.Frames, frameOf(j.methods.names[s.shadow[i]]))
	}
	for i := len(s.stack) - 1; i >= 0; i-- {
		f := &misstepv1.Frame{}
		if raw := s.stack[i].raw; raw != nil {
			f = &misstepv1.Frame{ClassName: raw.Class, Method: raw.Name, Descriptor_: raw.Descriptor, Bci: s.stack[i].bci}
		}
		m.Suspect.Frames = append(m.Suspect.Frames, f)
	}
	var k strings.Builder
	fmt.Fprint(&k, e.sampler, m.Kind, m.Divergence)
	for _, t := range []*misstepv1.Trace{m.Reference, m.Suspect} {
		for _, f := range t.Frames {
			fmt.Fprint(&k, "\n", f.GetClassName(), f.GetMethod(), f.GetDescriptor_())
		}
		k.WriteString("\n--")
	}
	if old, seen := j.seen[k.String()]; seen {
		old.Count++
		return
	}
	j.seen[k.String()] = m
}

func frameOf(name string) *misstepv1.Frame {
	head, rest, _ := strings.Cut(name, "(")
	dot := strings.LastIndexByte(head, '.')
	return &misstepv1.Frame{
		ClassName: strings.ReplaceAll(head[:max(dot, 0)], "/", "."), Method: head[dot+1:], Descriptor_: "(" + rest,
	}
}
