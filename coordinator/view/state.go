package view

import (
	"cmp"
	"slices"

	"google.golang.org/protobuf/types/known/timestamppb"

	"misstep/coordinator/rates"
	"misstep/coordinator/watch"
	misstepv1 "misstep/proto/misstep/v1"
)

// addQuiet adds to findings the JDKs on which they went quiet (see package watch). Each trial is looked at once, in the order of
// their ids, however many findings there are.
func (t *trials) addQuiet(all []*misstepv1.Finding) {
	type mark struct {
		of   *misstepv1.Finding
		hits []hits
		can  []bool
		jdks int
		last *rates.Hit
		jdk  string
	}
	var marks []mark
	for _, f := range all {
		shown := t.shown(idsOf(f)...)
		last := map[string]*rates.Hit{}
		for _, at := range shown {
			h := &t.log.Hits[at]
			last[t.log.Tallies[h.Tally].JDK] = h
		}
		m := mark{of: f, hits: t.hits(shown), can: t.could(f), jdks: len(last)}
		for m.jdk, m.last = range last {
			marks = append(marks, m)
		}
	}
	slices.SortFunc(marks, func(a, b mark) int {
		return cmp.Or(cmp.Compare(a.last.Trial, b.last.Trial), cmp.Compare(a.of.GetId(), b.of.GetId()))
	})
	on := t.byJDK()
	before := make([]int, len(t.tallies))   // trials up to the mark
	shown := make([]uint64, len(t.tallies)) // hits of the mark's finding
	for _, m := range marks {
		for _, h := range m.hits {
			shown[h.tally] = h.n
		}
		var cells []watch.Cell
		last := -1
		for _, i := range on[m.jdk] {
			ids := t.log.Tallies[i].Trials
			for before[i] < len(ids) && uint64(ids[before[i]]) <= m.last.Trial {
				before[i]++
			}
			if shown[i] == 0 && !m.can[t.tallies[i].checks] {
				continue
			}
			if t.tallies[i].cell != last {
				last = t.tallies[i].cell
				cells = append(cells, watch.Cell{})
			}
			c := &cells[len(cells)-1]
			c.Hits, c.Trials, c.Since = c.Hits+shown[i], c.Trials+uint64(before[i]), c.Since+uint64(len(ids)-before[i])
		}
		for _, h := range m.hits {
			shown[h.tally] = 0
		}
		if e := watch.Judge(cells, m.jdks); e.Quiet() {
			m.of.States = append(m.of.States, &misstepv1.FindingState{
				Kind: misstepv1.StateQuiet, Jdk: m.jdk, Since: timestamppb.New(m.last.Ended), Hits: e.Hits, Trials: e.Trials,
				Expected: e.Expected, P: e.P, Level: e.Level,
			})
		}
	}
}

// byJDK returns the combinations of each JDK, by name, those of a cell after each other. Probes of reproductions are left out:
// their rates are unlike a campaign's.
func (t *trials) byJDK() map[string][]int {
	on := map[string][]int{}
	for i, tally := range t.tallies {
		if jdk := t.log.Tallies[i].JDK; !tally.probes {
			on[jdk] = append(on[jdk], i)
		}
	}
	for _, all := range on {
		slices.SortStableFunc(all, func(a, b int) int { return cmp.Compare(t.tallies[a].cell, t.tallies[b].cell) })
	}
	return on
}
