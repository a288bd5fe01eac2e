package main

import (
	"cmp"
	"maps"
	"slices"
)

// walkCell is what one sampler on one JDK has of one bug in one case.
type walkCell struct {
	Bug, Case, JDK, Sampler string
	Feature                 int
	// Samples are those with a verdict, Wrong those of them that are wrong and have the bug's form. For AsyncGetCallTrace they are
	// its walks. Asked are all whose outcome is known, given up ones among them.
	Samples, Wrong, Asked uint64
	// At Lost instants AsyncGetCallTrace lost the stack by the bug, and the sampler's outcome is known: its trace is right, is
	// wrong in the form of the same bug, is wrong otherwise; it gave up and said so; or the recording has no trace.
	Lost, Right, Same, Otherwise, GaveUp, NoTrace uint64
	// Silent are the instants among Lost at which AsyncGetCallTrace did not say so, SilentRight those where the sampler is right.
	Silent, SilentRight uint64
	// First is the time until the first wrong sample, 0 for none, Ran that of all runs, in seconds.
	First, Ran float64
}

// Has reports whether the sampler was seen to have the bug: by its own walk, at whatever instant.
func (c *walkCell) Has() bool { return c.Wrong > 0 }

// unnamed are wrong walks of no known bug.
type unnamed struct {
	Sampler, Form, JDK string
	Count              uint64
	Cases              []string
	// Example has the frames of one, top first; empty for walks of AsyncGetCallTrace.
	Example string
}

// walkTable is what all runs tell.
type walkTable struct {
	Runs    int
	Failed  []walkRun
	Cells   []*walkCell
	Unnamed []*unnamed
	// Judged walks and those that gave up, by JDK and sampler.
	Judged, GaveUp map[string]map[string]uint64
}

// seenIn is where a bug was seen on a JDK by anyone.
type seenIn map[[3]string]bool // bug, JDK, case

func seen(runs []walkRun) seenIn {
	in := seenIn{}
	for _, r := range runs {
		c := caseNamed(r.Case)
		for _, p := range r.Pairs {
			for _, name := range []string{nameOf(p.Walked, c, asgct, r.Version), nameOf(p.Sampled, c, p.Sampler, r.Version)} {
				if name != "" {
					in[[3]string{name, r.JDK, r.Case}] = true
				}
			}
		}
	}
	return in
}

// newWalkTable counts runs.
func newWalkTable(runs []walkRun) *walkTable {
	t := &walkTable{Judged: map[string]map[string]uint64{}, GaveUp: map[string]map[string]uint64{}}
	where := seen(runs)
	cells := map[[4]string]*walkCell{}
	odd := map[[3]string]*unnamed{}
	for _, r := range runs {
		if r.Failure != "" {
			t.Failed = append(t.Failed, r)
			continue
		}
		t.Runs++
		for at := range where {
			if at[1] != r.JDK || at[2] != r.Case {
				continue
			}
			for _, sampler := range r.samplers() {
				k := [4]string{at[0], r.Case, r.JDK, sampler}
				if cells[k] == nil {
					cells[k] = &walkCell{Bug: at[0], Case: r.Case, JDK: r.JDK, Feature: r.Feature, Sampler: sampler}
				}
				cells[k].count(r)
			}
		}
		for _, p := range r.Pairs {
			t.countWalk(r, pair{Sampler: asgct, Sampled: p.Walked, Count: p.Count}, odd)
			t.countWalk(r, p, odd)
		}
	}
	t.Cells = slices.SortedFunc(maps.Values(cells), func(a, b *walkCell) int {
		return cmp.Or(cmp.Compare(a.Bug, b.Bug), cmp.Compare(a.Case, b.Case), cmp.Compare(a.Feature, b.Feature),
			cmp.Compare(order(a.Sampler), order(b.Sampler)))
	})
	t.Unnamed = slices.SortedFunc(maps.Values(odd), func(a, b *unnamed) int {
		return cmp.Or(cmp.Compare(order(a.Sampler), order(b.Sampler)), cmp.Compare(b.Count, a.Count), cmp.Compare(a.JDK, b.JDK),
			cmp.Compare(a.Form, b.Form))
	})
	return t
}

// samplers of a run, AsyncGetCallTrace first.
func (r walkRun) samplers() []string {
	all := []string{asgct}
	for _, p := range r.Pairs {
		if !slices.Contains(all, p.Sampler) {
			all = append(all, p.Sampler)
		}
	}
	return all
}

// count adds a run to a cell.
func (c *walkCell) count(r walkRun) {
	of, found := caseNamed(r.Case), c.Has()
	first := -1.0
	for _, p := range r.Pairs {
		walk := p.Sampled
		if c.Sampler == asgct {
			walk = p.Walked
		} else if c.Sampler != p.Sampler {
			continue
		}
		if walk.Outcome == right || walk.Outcome == wrong {
			c.Samples += p.Count
		}
		if walk.Outcome != unknown {
			c.Asked += p.Count
		}
		lostBy := nameOf(walk, of, c.Sampler, r.Version)
		if walk.Outcome == wrong && lostBy == c.Bug {
			c.Wrong += p.Count
			if first < 0 || p.First < first {
				first = p.First
			}
		}
		if bugOf(p.Walked, of, r.Version) == c.Bug && walk.Outcome != unknown {
			c.countLost(walk, lostBy, p.Count)
			if p.Walked.Outcome == wrong {
				c.Silent += p.Count
				if walk.Outcome == right {
					c.SilentRight += p.Count
				}
			}
		}
	}
	if first >= 0 && !found {
		c.First = c.Ran + first
	}
	c.Ran += r.Wall
}

// countLost adds instants at which AsyncGetCallTrace lost the stack by the cell's bug.
func (c *walkCell) countLost(walk form, lostBy string, n uint64) {
	c.Lost += n
	switch {
	case walk.Outcome == right:
		c.Right += n
	case walk.Outcome == gaveUp:
		c.GaveUp += n
	case walk.Outcome == noTrace:
		c.NoTrace += n
	case lostBy == c.Bug:
		c.Same += n
	default:
		c.Otherwise += n
	}
}

// countWalk counts a sample, whatever AsyncGetCallTrace answered.
func (t *walkTable) countWalk(r walkRun, p pair, odd map[[3]string]*unnamed) {
	sampler, walk, n := p.Sampler, p.Sampled, p.Count
	add := func(to map[string]map[string]uint64) {
		if to[r.JDK] == nil {
			to[r.JDK] = map[string]uint64{}
		}
		to[r.JDK][sampler] += n
	}
	switch walk.Outcome {
	case right, wrong:
		add(t.Judged)
	case gaveUp:
		add(t.GaveUp)
	case noTrace, unknown:
	}
	if walk.Outcome != wrong || nameOf(walk, caseNamed(r.Case), sampler, r.Version) != "" {
		return
	}
	k := [3]string{sampler, r.JDK, walk.text()}
	if odd[k] == nil {
		odd[k] = &unnamed{Sampler: sampler, JDK: r.JDK, Form: walk.text(), Example: p.Example}
	}
	odd[k].Count += n
	if !slices.Contains(odd[k].Cases, r.Case) {
		odd[k].Cases = append(odd[k].Cases, r.Case)
	}
}

// order of samplers in tables.
func order(sampler string) int {
	return slices.Index([]string{asgct, executionSample, cpuTimeSample, "vm", "vmx", "fp", "dwarf", "no"}, sampler)
}
