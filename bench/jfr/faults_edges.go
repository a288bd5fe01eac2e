package main

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"strings"

	"misstep/recipe"
	"misstep/runner/judge"
	"misstep/runner/judge/altered"
	"misstep/runner/recording"
)

// faultTries is the number of faults of a class that are put into the traces of one run for event-edges.
const faultTries = 2000

// edges puts faults into traces of which each edge is decided: each different one once.
func (s *sensitivity) edges(m *material, random *rand.Rand) {
	verdict := func(stack *recording.Stack) judge.Verdicts {
		j := m.edgesJudge()
		visit(j, []recording.Record{&recording.Event{Stack: stack}}, nil)
		return j.Verdicts()
	}
	var events []*recording.Event
	var stacks []*recording.Stack
	seen, shared := map[string]bool{}, map[*recording.Stack]bool{}
	for _, record := range m.records {
		e, is := record.(*recording.Event)
		if !is || e.Stack == nil || len(e.Stack.Frames) < 4 || shared[e.Stack] {
			continue
		}
		shared[e.Stack] = true
		text := textOf(e.Stack)
		if seen[text] {
			continue
		}
		seen[text] = true
		count := verdict(e.Stack).Count
		if decided := count.GetMatch() + count.GetTolerated()["vm-upcall"]; decided == uint64(len(e.Stack.Frames)-1) {
			events, stacks = append(events, e), append(stacks, e.Stack)
		}
	}
	if len(stacks) == 0 {
		return
	}
	real := map[edge]bool{}
	for _, stack := range stacks {
		for e := range edgesOf(stack.Frames) {
			real[e] = true
		}
	}
	sees := m.edgesJudge()
	other := func() []recording.Frame { return stacks[random.IntN(len(stacks))].Frames }
	for _, f := range altered.Faults {
		c := s.cell(f.Class, recipe.EventEdges)
		for range faultTries {
			frames := other()
			at := 1 + random.IntN(len(frames)-2)
			changed := f.Apply(random, other, frames, at)
			blind := ""
			switch {
			case sees.Blind(f.Class, changed, frames, at):
				blind = blindEdges
			case allIn(real, changed):
				blind = blindSeen
			}
			count := verdict(&recording.Stack{Frames: changed}).Count
			c.count(blind, count.GetMismatch() > 0, false, strings.TrimSpace("not noticed "+wordsOf(count.GetTolerated())))
		}
	}
	others := altered.Index(m.records)
	for _, class := range altered.Replacements { // another whole trace has possible edges only
		c := s.cell(class, recipe.EventEdges)
		for range faultTries {
			if stack := others.Replace(random, class, events[random.IntN(len(events))]); stack != nil {
				c.count(blindEdges, verdict(stack).Count.GetMismatch() > 0, false, "")
			}
		}
	}
}

// textOf is equal for traces of the same methods at the same indices.
func textOf(s *recording.Stack) string {
	var b strings.Builder
	for _, f := range s.Frames {
		if f.Method != nil {
			fmt.Fprintf(&b, "%s.%s%s@%d\n", f.Method.Class, f.Method.Name, f.Method.Descriptor, f.BCI)
		}
	}
	return b.String()
}

// edge is a place in a caller, and what it called.
type edge struct {
	caller, callee [3]string // class, name, descriptor
	bci            int32
}

func edgesOf(frames []recording.Frame) iter.Seq[edge] {
	name := func(m *recording.Method) [3]string {
		if m == nil {
			return [3]string{}
		}
		return [3]string{m.Class, m.Name, m.Descriptor}
	}
	return func(yield func(edge) bool) {
		for i := range len(frames) - 1 {
			if !yield(edge{name(frames[i+1].Method), name(frames[i].Method), frames[i+1].BCI}) {
				return
			}
		}
	}
}

// allIn reports whether all edges of a trace are known ones: then it is a trace that there may be.
func allIn(known map[edge]bool, frames []recording.Frame) bool {
	for e := range edgesOf(frames) {
		if !known[e] {
			return false
		}
	}
	return true
}
