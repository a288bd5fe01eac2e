package main

import (
	"fmt"
	"math"
	"slices"
	"time"

	"misstep/bench"
)

// of returns the cells that match.
func (r *results) of(which func(cell) bool) []cell {
	return slices.DeleteFunc(slices.Clone(r.Cells), func(c cell) bool { return !which(c) })
}

// fastFleet is the fleet for which p99 and the rate have goals.
const fastFleet = 10_000

func (r *results) goals() []bench.Goal {
	var goals []bench.Goal
	if r.options.measures(partCells) {
		goals = r.cellGoals()
	}
	return slices.Concat(goals, r.recipesGoals(), r.readsGoals(), r.stormGoals())
}

// cellGoals are those of the cells with synthetic trials.
func (r *results) cellGoals() []bench.Goal {
	var goals []bench.Goal
	rate := func(c cell) float64 { return c.PerSecond }
	for _, store := range r.stores() {
		all := r.of(func(c cell) bool {
			return c.Store == store && c.Observed == observedNothing && c.Guarded == "" && c.Trials == ""
		})
		most := slices.DeleteFunc(slices.Clone(all), func(c cell) bool { return c.Runners != fastFleet })
		least := func(value func(cell) float64, of []cell) float64 { return extreme(of, value, math.Min) }
		goals = append(goals,
			bench.Goal{
				Name: store + ": results with next leases, 10,000 runners", Goal: 10_000, Unit: "a second", AtLeast: true,
				Measured: least(rate, most),
			},
			bench.Goal{
				Name: store + ": share of bare inserts", Goal: 0.5, AtLeast: true, Measured: least(rate, all) / r.Bare[base(all)],
			},
			bench.Goal{
				Name: store + ": p99, 10,000 runners", Goal: 1, Unit: "s",
				Measured: extreme(most, func(c cell) float64 { return c.P99.Seconds() }, math.Max),
			},
			bench.Goal{
				Name: store + ": slowest fleet of fastest", Goal: 0.8, AtLeast: true,
				Measured: flatness(all, func(c cell) string { return fmt.Sprint(c.Coordinators, c.Size, c.Filled) },
					func(c cell) bool { return c.Runners == 100 }, func(c cell) bool { return c.Runners == fastFleet }),
			},
			bench.Goal{
				Name: store + ": slowest number of stored results of fastest", Goal: 0.8, AtLeast: true,
				Measured: flatness(all, func(c cell) string { return fmt.Sprint(c.Coordinators, c.Runners) },
					func(c cell) bool { return c.Filled <= 1e5 }, func(c cell) bool { return c.Filled >= 1e6 }),
			})
	}
	if r.options.guarded {
		goals = append(goals, r.guardedGoals()...)
	}
	return goals
}

// flatness returns the least share that the slowest cell has of the fastest one in groups of cells that the key makes. Groups that
// do not reach from one end of what the goal is about to the other count for nothing: NaN when none does.
func flatness(cells []cell, key func(cell) string, from, to func(cell) bool) float64 {
	groups := map[string][]cell{}
	for _, c := range cells {
		groups[key(c)] = append(groups[key(c)], c)
	}
	rate, share := func(c cell) float64 { return c.PerSecond }, math.NaN()
	for _, g := range groups {
		if !slices.ContainsFunc(g, from) || !slices.ContainsFunc(g, to) {
			continue
		}
		of := extreme(g, rate, math.Min) / extreme(g, rate, math.Max)
		if math.IsNaN(share) || of < share {
			share = of
		}
	}
	return share
}

// base returns the store of cells.
func base(cells []cell) string {
	if len(cells) == 0 {
		return ""
	}
	return cells[0].Store
}

func extreme(cells []cell, value func(cell) float64, choose func(a, b float64) float64) float64 {
	if len(cells) == 0 {
		return math.NaN()
	}
	x := value(cells[0])
	for _, c := range cells[1:] {
		x = choose(x, value(c))
	}
	return x
}

func (r *results) stores() []string {
	var names []string
	for _, c := range r.Cells {
		if !slices.Contains(names, c.Store) {
			names = append(names, c.Store)
		}
	}
	return names
}

func (r *results) tables() []bench.Table {
	t := bench.Table{Title: "Results with their next leases", Columns: []string{
		"store", "coordinators", "runners", "campaigns of", "stored", "observed", "guarded by", "trials", "a second", "p50", "p99",
		"CPU s per 10^6 calls", "of runners", "KiB a runner", "repeated", "idle", "CPUs elsewhere",
	}}
	for _, c := range r.Cells {
		t.Rows = append(t.Rows, []string{
			c.Store, fmt.Sprint(c.Coordinators), fmt.Sprint(c.Runners), fmt.Sprint(c.Size), fmt.Sprint(c.Stored), c.Observed,
			c.Guarded, c.kind(),
			bench.Figure(math.Round(c.PerSecond)), c.P50.Round(time.Millisecond).String(), c.P99.Round(time.Millisecond).String(),
			bench.Figure(c.CPU.Seconds() * 1e6), bench.Figure(c.RunnersCPU.Seconds() * 1e6),
			bench.Figure(math.Round(c.Memory / 1024)), fmt.Sprint(c.Failed), fmt.Sprint(c.Idle), bench.Figure(c.Elsewhere),
		})
	}
	bare := bench.Table{Title: "Bare inserts of the same rows", Columns: []string{"store", "results a second"}}
	for _, name := range r.stores() {
		bare.Rows = append(bare.Rows, []string{name, bench.Figure(math.Round(r.Bare[name]))})
	}
	var cells []bench.Table
	if len(r.Cells) > 0 {
		cells = []bench.Table{t, bare}
	}
	return slices.Concat(cells, r.readsTables(), r.stormTables())
}
