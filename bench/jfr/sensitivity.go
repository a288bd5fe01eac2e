package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"misstep/bench"
	"misstep/bench/trial"
	"misstep/recipe"
	"misstep/runner/judge"
	"misstep/runner/judge/altered"
	"misstep/runner/judge/chunks"
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

// faultTries is the number of faults of a class that are put into the traces of one run for event-edges.
const faultTries = 2000

// measureSensitivity takes one run after the other until the time is over.
func measureSensitivity(ctx context.Context, bed *trial.Bed, reader recording.Helper, until time.Time) (*sensitivity, error) {
	s := &sensitivity{}
	var all []combination
	for _, p := range []int{0, 1, 5} { // JFR, async-profiler's vm and no
		for _, feature := range []int{25, 17, 28} {
			on, ok := bed.JDK(feature)
			w, err := bed.Workload("mix")
			if err != nil {
				return nil, err
			}
			if p := profilers()[p]; ok {
				if p.GetName() == recipe.ProfilerJFR {
					p.Options = []string{"maxchunksize=1M"} // so that there are several
				}
				all = append(all, combination{on, w, p})
			}
		}
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
		if c.profiler.GetName() == recipe.ProfilerJFR {
			if err := s.bytes(ctx, bed, reader, m, random, until); err != nil && ctx.Err() == nil {
				s.Failed++
				bench.Note("faults in the bytes of %s: %v", c.name(), err)
			}
		}
		bench.Note("faults in %s: %d records", c.name(), len(m.records))
	}
	return s, nil
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
		c.count(blind, f.Mismatch != nil, f.Void != "", verdictOf(f))
	})
}

// visit gives a judge all records, some of them changed.
func visit(j interface {
	Visit(r recording.Record) error
}, records []recording.Record, changed map[*recording.Event]*recording.Event) {
	for _, record := range records {
		if e, is := record.(*recording.Event); is && changed[e] != nil {
			record = changed[e]
		}
		_ = j.Visit(record) // these judges take everything
	}
}

func verdictOf(f shadow.Finding) string {
	switch {
	case f.Rule != "":
		return "tolerated " + f.Rule
	case f.Unwalkable:
		return "unwalkable"
	}
	return "match"
}

// edges puts faults into traces of which each edge is decided: each different one once.
func (s *sensitivity) edges(m *material, random *rand.Rand) {
	verdict := func(stack *recording.Stack) judge.Verdicts {
		j := m.edgesJudge()
		visit(j, []recording.Record{&recording.Event{Stack: stack}}, nil)
		return j.Verdicts()
	}
	var stacks []*recording.Stack
	seen := map[string]bool{}
	for _, record := range m.records {
		e, is := record.(*recording.Event)
		if !is || e.Stack == nil || len(e.Stack.Frames) < 4 {
			continue
		}
		text := textOf(e.Stack)
		if seen[text] {
			continue
		}
		seen[text] = true
		count := verdict(e.Stack).Count
		if decided := count.GetMatch() + count.GetTolerated()["vm-upcall"]; decided == uint64(len(e.Stack.Frames)-1) {
			stacks = append(stacks, e.Stack)
		}
	}
	if len(stacks) == 0 {
		return
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
			if sees.Blind(f.Class, changed, frames, at) {
				blind = blindEdges
			}
			count := verdict(&recording.Stack{Frames: changed}).Count
			c.count(blind, count.GetMismatch() > 0, false, strings.TrimSpace("not noticed "+wordsOf(count.GetTolerated())))
		}
	}
	for _, class := range altered.Replacements { // another whole trace has possible edges only
		c := s.cell(class, recipe.EventEdges)
		for range faultTries {
			c.count(blindEdges, verdict(&recording.Stack{Frames: other()}).Count.GetMismatch() > 0, false, "")
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

// constantTries is the number of times that a change of constants is made, each time of others; headers are changed once.
const constantTries = 5

// bytes changes the bytes of the recording, and judges the changed one by itself.
func (s *sensitivity) bytes(ctx context.Context, bed *trial.Bed, reader recording.Helper, m *material, random *rand.Rand,
	until time.Time,
) error {
	file := m.files[0]
	data, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read the recording: %w", err)
	}
	clean, err := judgeChunks(ctx, reader, file)
	if err != nil {
		return err
	}
	for _, change := range altered.OfBytes {
		tries := 1
		if change.Type == "jdk.types.Symbol" || change.Kind == "" {
			tries = constantTries
		}
		for range tries {
			if ctx.Err() != nil || !time.Now().Before(until) {
				return nil
			}
			split, err := altered.Split(slices.Clone(data))
			if err != nil {
				return err
			}
			if len(split) < 2 {
				return fmt.Errorf("it has %d chunk: expected two at least", len(split))
			}
			if split, err = change.Apply(random, split); err != nil {
				return err
			}
			path := filepath.Join(bed.Dir, "changed.jfr")
			if err := os.WriteFile(path, bytes.Join(split, nil), 0o600); err != nil {
				return fmt.Errorf("write the changed recording: %w", err)
			}
			after, err := judgeChunks(ctx, reader, path)
			if err != nil {
				return err
			}
			blind := ""
			if change.Kind == "" {
				blind = blindIDs
			}
			noticed := foundMore(clean, after, change)
			s.cell(change.Class, recipe.JfrChunks).count(blind, noticed, false, "not noticed")
		}
	}
	return nil
}

// foundMore reports whether there are more mismatches of the kind that says what was changed; of any kind where there is none.
func foundMore(clean, after judge.Verdicts, change altered.Bytes) bool {
	count := func(v judge.Verdicts) (n uint64) {
		for _, m := range v.Mismatches {
			if change.Kind == "" || m.GetKind() == change.Kind && m.GetRecordingFault().GetType() == change.Type {
				n += m.GetCount()
			}
		}
		return n
	}
	return count(after) > count(clean)
}

func judgeChunks(ctx context.Context, reader recording.Helper, file string) (judge.Verdicts, error) {
	j := chunks.New(1000)
	_, _, err := reader.Read(ctx, file, recording.Limits{}, j.Visit)
	return j.Verdicts(), err
}
