package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"misstep/bench"
	"misstep/internal/interval"
)

const (
	// sensitivityGoal is the share of visible faults that must be noticed, in per cent.
	sensitivityGoal = 99
	// leastVisible is the least number of visible faults whose share can be compared with the goal.
	leastVisible = 100
)

func (s *sensitivity) reached() string {
	return fmt.Sprintf("%d runs with faults, %d of them failed", s.Runs+s.Failed, s.Failed)
}

func (s *sensitivity) tables() []bench.Table {
	return []bench.Table{s.table(), s.blindTable(), s.dropTable()}
}

func (s *sensitivity) table() bench.Table {
	t := bench.Table{
		Title: "sensitivity: faults put into what was recorded",
		Columns: []string{
			"class", "check", "void", "blind (noticed)", "visible", "noticed", "share", "95 % interval", "missed as",
		},
	}
	for _, c := range s.ordered() {
		share, between := "-", "-"
		if c.Visible > 0 {
			low, high := interval.Wilson(c.Detected, c.Visible)
			share = fmt.Sprintf("%.2f %%", 100*float64(c.Detected)/float64(c.Visible))
			between = fmt.Sprintf("%.2f–%.2f", 100*low, 100*high)
		}
		var blind [2]uint64
		for _, n := range c.Blind {
			blind[0], blind[1] = blind[0]+n[0], blind[1]+n[1]
		}
		t.Rows = append(t.Rows, []string{
			c.Class, c.Check, fmt.Sprint(c.Void), fmt.Sprintf("%d (%d)", blind[0], blind[1]), fmt.Sprint(c.Visible),
			fmt.Sprint(c.Detected), share, between, wordsOf(c.Missed),
		})
	}
	return t
}

// ordered returns the cells by class and check.
func (s *sensitivity) ordered() []*faultCell {
	return slices.SortedStableFunc(slices.Values(s.Cells), func(a, b *faultCell) int {
		return cmp.Or(cmp.Compare(a.Check, b.Check), cmp.Compare(a.Class, b.Class))
	})
}

// blindTable says why checks cannot see faults.
func (s *sensitivity) blindTable() bench.Table {
	t := bench.Table{Title: "named blindness", Columns: []string{"check", "why", "faults", "noticed nevertheless"}}
	type key struct{ check, why string }
	counts := map[key][2]uint64{}
	var keys []key
	for _, c := range s.ordered() {
		for why, n := range c.Blind {
			k := key{c.Check, why}
			if _, known := counts[k]; !known {
				keys = append(keys, k)
			}
			counts[k] = [2]uint64{counts[k][0] + n[0], counts[k][1] + n[1]}
		}
	}
	slices.SortFunc(keys, func(a, b key) int { return cmp.Or(cmp.Compare(a.check, b.check), cmp.Compare(a.why, b.why)) })
	for _, k := range keys {
		t.Rows = append(t.Rows, []string{k.check, k.why, fmt.Sprint(counts[k][0]), fmt.Sprint(counts[k][1])})
	}
	return t
}

// dropTable says of how many samples the loss could be noticed.
func (s *sensitivity) dropTable() bench.Table {
	t := bench.Table{
		Title: "a sample dropped: no check counts samples; samples of threads whose calls of the handler are all accounted for",
		Columns: []string{
			"JDK", "profiler", "sampler", "threads", "calls", "samples", "counted as lost", "samples on such threads", "share",
		},
	}
	for _, d := range s.Drops {
		t.Rows = append(t.Rows, []string{
			d.JDK, d.Profiler, d.Sampler, fmt.Sprint(d.Threads), fmt.Sprint(d.Calls), fmt.Sprint(d.Samples), fmt.Sprint(d.Lost),
			fmt.Sprint(d.Exact), percent(float64(d.Exact) / float64(d.Samples)),
		})
	}
	return t
}

// goals are of each class that a check can see at all.
func (s *sensitivity) goals() []bench.Goal {
	var goals []bench.Goal
	for _, c := range s.ordered() {
		if c.Visible == 0 {
			continue
		}
		measured := math.NaN() // no proof, no pass
		if c.Visible >= leastVisible {
			measured = 100 * float64(c.Detected) / float64(c.Visible)
		}
		goals = append(goals, bench.Goal{
			Name: fmt.Sprintf("%s noticed by %s (%d visible)", c.Class, c.Check, c.Visible), Goal: sensitivityGoal,
			Measured: measured, Unit: "%", AtLeast: true,
		})
	}
	return goals
}
