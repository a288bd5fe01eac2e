package main

import (
	"fmt"
	"math/rand/v2"
	"os"

	"misstep/recipe"
	"misstep/runner/judge/altered"
	"misstep/runner/judge/samplers"
	"misstep/runner/recording"
)

// Reasons for which a stack that stood still does not contradict a fault.
const (
	blindMoved = "only what moved on top of the stack that stood, bytecode indices, hidden methods, unknown lines"
	blindEdge  = "the sample is near the begin or the end of the time (span-edge)"
)

// sampleID is what a sample of a recording is known by.
type sampleID struct{ thread, at int64 }

// standing puts faults into samples that were taken while a stack stood still, in a run of a workload that says so. Other samples
// are compared with their neighbours, which proves little.
func (s *sensitivity) standing(m *material, random *rand.Rand) error {
	right := map[sampleID]int{} // with the number of frames that stood
	if err := m.standing(nil, func(id sampleID, v samplers.Verdict) {
		if v.Standing > 0 && v.Rule+v.Void+v.Kind == "" {
			right[id] = v.Standing
		}
	}); err != nil {
		return err
	}
	var events []*recording.Event
	for _, record := range m.records {
		e, is := record.(*recording.Event)
		if is && isSample(e) && right[sampleID{e.Thread.Java, e.StartNanos}] > 0 && len(e.Stack.Frames) >= 4 {
			events = append(events, e)
		}
	}
	if len(events) == 0 {
		return fmt.Errorf("no sample was taken while a stack stood")
	}
	others := altered.Index(m.records)
	other := func() []recording.Frame { return events[random.IntN(len(events))].Stack.Frames }
	inject := func(class string, apply func(e *recording.Event) []recording.Frame) error {
		changed := map[*recording.Event]*recording.Event{}
		after := map[sampleID]*recording.Event{}
		for _, e := range events {
			if frames := apply(e); frames != nil {
				copied := *e
				copied.Stack = &recording.Stack{Frames: frames}
				changed[e] = &copied
				after[sampleID{e.Thread.Java, e.StartNanos}] = e
			}
		}
		c := s.cell(class, recipe.Samplers)
		return m.standing(changed, func(id sampleID, v samplers.Verdict) {
			e := after[id]
			if e == nil {
				return
			}
			blind := ""
			switch {
			case v.Rule == "span-edge":
				blind = blindEdge
			case !contradicted(e.Stack.Frames, changed[e].Stack.Frames, right[id]):
				blind = blindMoved
			}
			c.count(blind, v.Kind != "", v.Void != "", "match "+v.Rule)
		})
	}
	for _, f := range altered.Faults {
		if err := inject(f.Class, func(e *recording.Event) []recording.Frame {
			frames := e.Stack.Frames
			return f.Apply(random, other, frames, 1+random.IntN(len(frames)-2))
		}); err != nil {
			return err
		}
	}
	for _, class := range altered.Replacements {
		if err := inject(class, func(e *recording.Event) []recording.Frame {
			if stack := others.Replace(random, class, e); stack != nil {
				return stack.Frames
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// isSample reports whether an event is a sample of a thread with a trace.
func isSample(e *recording.Event) bool {
	return (e.Type == executionSample || e.Type == nativeSample || e.Type == cpuTimeSample) && e.Stack != nil && e.Thread != nil
}

// standing judges the samples, some of which are changed, by the stacks that the program's output says to have stood.
func (m *material) standing(changed map[*recording.Event]*recording.Event, use func(sampleID, samplers.Verdict)) error {
	output, err := os.Open(m.output)
	if err != nil {
		return fmt.Errorf("read the program's output: %w", err)
	}
	defer output.Close()
	j := samplers.New(samplers.Options{})
	if err := j.Held(output); err != nil {
		return err
	}
	visit(j, m.records, changed)
	j.Each(func(v samplers.Verdict) { use(sampleID{v.Java, v.At}, v) })
	return nil
}

// contradicted reports whether a stack of so many frames that stood contradicts a trace in which another one was before: the first
// difference from the bottom is in its part that stood, and is not the innermost line of it, which is not known.
func contradicted(before, after []recording.Frame, stood int) bool {
	n := 0
	for n < min(len(before), len(after)) && sameLocation(before[len(before)-1-n], after[len(after)-1-n]) {
		n++
	}
	switch {
	case n >= stood || n == len(before):
		return false
	case n == len(after):
		return !hiddenFrame(before[len(before)-1-n])
	}
	was, is := before[len(before)-1-n], after[len(after)-1-n]
	lineOnly := sameMethod(was, is)
	return !hiddenFrame(was) && !hiddenFrame(is) && (!lineOnly || n < stood-1 && was.Line > 0 && is.Line > 0)
}

func sameMethod(a, b recording.Frame) bool {
	return a.Method != nil && b.Method != nil && a.Method.Class == b.Method.Class && a.Method.Name == b.Method.Name
}

func sameLocation(a, b recording.Frame) bool { return sameMethod(a, b) && a.Line == b.Line }

// hiddenFrame reports whether the check leaves a frame out, or takes the trace for void because of it.
func hiddenFrame(f recording.Frame) bool {
	return f.Method == nil || f.Method.Hidden || f.Method.ClassHidden
}
