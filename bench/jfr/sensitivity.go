package main

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"misstep/bench"
	"misstep/bench/trial"
	"misstep/recipe"
	"misstep/runner/judge/altered"
	"misstep/runner/judge/shadow"
	"misstep/runner/recording"
)

// The part sensitivity puts faults into what a profiler has recorded, and counts which of them the checks notice.

// sensitivity counts faults.
type sensitivity struct {
	Runs, Failed int
	Cells        []*faultCell
	Drops        []dropped
}

// faultCell is one class of faults under one check.
type faultCell struct {
	Class, Check string
	// Void ones have no verdict, visible ones are those for which the check has no excuse.
	Void, Visible, Detected uint64
	// Blind faults by the reason why the check cannot see them, and how many of them it noticed nevertheless.
	Blind map[string]*[2]uint64
	// Missed visible faults by their verdict.
	Missed map[string]uint64
}

// measureSensitivity takes one run after the other until the time is over.
func measureSensitivity(ctx context.Context, bed *trial.Bed, reader recording.Helper, until time.Time) (*sensitivity, error) {
	s := &sensitivity{}
	all, err := faultCombinations(bed)
	if err != nil {
		return nil, err
	}
	for n := 0; len(all) > 0 && ctx.Err() == nil && time.Now().Before(until); n++ {
		c := all[n%len(all)]
		m, err := collect(ctx, bed, reader, c, uint64(n))
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			s.Failed++
			bench.Note("faults in %s: %v", c.name(), err)
			continue
		}
		s.Runs++
		random := rand.New(rand.NewPCG(uint64(n), 1))
		s.samples(m, random)
		s.edges(m, random)
		s.Drops = append(s.Drops, drops(m)...)
		switch {
		case c.workload.Name == standingWorkload:
			err = s.standing(m, random)
		case c.profiler.GetName() == recipe.ProfilerJFR:
			err = s.bytes(ctx, bed, reader, m, random, until)
		}
		if err != nil && ctx.Err() == nil {
			s.Failed++
			bench.Note("faults in %s: %v", c.name(), err)
		}
		bench.Note("faults in %s: %d records", c.name(), len(m.records))
	}
	return s, nil
}

// standingWorkload says which stacks stand still when.
const standingWorkload = "still"

// faultCombinations are what faults are put into: JFR first, which has most checks.
func faultCombinations(bed *trial.Bed) (all []combination, err error) {
	for _, try := range []struct {
		workload string
		profiler int // JFR, async-profiler's vm and no
	}{{"mix", 0}, {standingWorkload, 0}, {"mix", 1}, {"mix", 5}} {
		for _, feature := range []int{25, 17, 28} {
			on, ok := bed.JDK(feature)
			if !ok || !bed.Runs(on, try.workload) {
				continue
			}
			w, err := bed.Workload(try.workload)
			if err != nil {
				return nil, err
			}
			p := profilers()[try.profiler]
			if p.GetName() == recipe.ProfilerJFR {
				p.Options = []string{"maxchunksize=1M"}
			}
			all = append(all, combination{on, w, p})
		}
	}
	return all, nil
}

// cell returns the counts of a class under a check.
func (s *sensitivity) cell(class, check string) *faultCell {
	for _, c := range s.Cells {
		if c.Class == class && c.Check == check {
			return c
		}
	}
	c := &faultCell{Class: class, Check: check, Blind: map[string]*[2]uint64{}, Missed: map[string]uint64{}}
	s.Cells = append(s.Cells, c)
	return c
}

// count adds a fault. verdict says what the check made of it, empty for a match.
func (c *faultCell) count(blind string, noticed, void bool, verdict string) {
	switch {
	case void:
		c.Void++
	case blind != "":
		if c.Blind[blind] == nil {
			c.Blind[blind] = &[2]uint64{}
		}
		c.Blind[blind][0]++
		if noticed {
			c.Blind[blind][1]++
		}
	case noticed:
		c.Visible++
		c.Detected++
	default:
		c.Visible++
		c.Missed[verdict]++
	}
}

// shares: so many times the samples are judged for a class, each time with a fault in another share of them, among the others.
const shares = 4

// samples puts faults into samples that match their shadow.
func (s *sensitivity) samples(m *material, random *rand.Rand) {
	var right []*recording.Event
	clean := m.shadowJudge()
	visit(clean, m.records, nil)
	clean.Each(func(e *recording.Event, f shadow.Finding) {
		if f == (shadow.Finding{}) && len(e.Stack.Frames) >= 4 {
			right = append(right, e)
		}
	})
	if len(right) == 0 {
		return
	}
	instrumented := map[string]bool{}
	for _, name := range m.methods {
		instrumented[name] = true
	}
	others := altered.Index(m.records)
	other := func() []recording.Frame { return right[random.IntN(len(right))].Stack.Frames }
	classes := slices.Clone(altered.Replacements)
	for _, f := range altered.Faults {
		classes = append(classes, f.Class)
	}
	for k, class := range classes {
		for share := range shares {
			changed := map[*recording.Event]*recording.Event{}
			for i := share; i < len(right); i += shares {
				e := right[i]
				stack := &recording.Stack{}
				if k < len(altered.Replacements) {
					if stack = others.Replace(random, class, e); stack == nil {
						continue
					}
				} else {
					at := 1 + random.IntN(len(e.Stack.Frames)-2)
					stack.Frames = altered.Faults[k-len(altered.Replacements)].Apply(random, other, e.Stack.Frames, at)
				}
				copied := *e
				copied.Stack = stack
				changed[e] = &copied
			}
			s.judgeSamples(m, class, changed, instrumented)
		}
	}
}

// judgeSamples judges all samples, some of which are changed.
func (s *sensitivity) judgeSamples(m *material, class string, changed map[*recording.Event]*recording.Event,
	instrumented map[string]bool,
) {
	original := map[*recording.Event]*recording.Event{}
	for e, copied := range changed {
		original[copied] = e
	}
	j := m.shadowJudge()
	visit(j, m.records, changed)
	c := s.cell(class, m.shadowCheck())
	j.Each(func(e *recording.Event, f shadow.Finding) {
		before := original[e]
		if before == nil {
			return
		}
		later := m.profiler.GetName() == recipe.ProfilerJFR && m.on.Feature >= 25 && e.Biased != recording.False
		blind := blindShadow(class, before.Stack.Frames, e.Stack.Frames, instrumented, later)
		if f.Unwalkable {
			blind = blindGaveUp
		}
		c.count(blind, f.Mismatch != nil, f.Void != "", verdictOf(f))
	})
}

type visitor interface {
	Visit(r recording.Record) error
}

// visit gives a judge all records, some of them changed.
func visit(j visitor, records []recording.Record, changed map[*recording.Event]*recording.Event) {
	for _, record := range records {
		if e, is := record.(*recording.Event); is && changed[e] != nil {
			record = changed[e]
		}
		_ = j.Visit(record) // these judges take everything
	}
}

func verdictOf(f shadow.Finding) string {
	if f.Rule != "" {
		return "tolerated " + f.Rule
	}
	return "match"
}
