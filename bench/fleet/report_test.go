package main

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"misstep/bench"
)

func TestFlatnessIsMeasuredFromEndToEnd(t *testing.T) {
	named := func(r *results, name string) bench.Goal {
		for _, g := range r.goals() {
			if g.Name == name {
				return g
			}
		}
		t.Fatal(name)
		return bench.Goal{}
	}
	r := &results{Bare: map[string]float64{"sqlite": 1000}}
	add := func(runners int, filled uint64, rate float64) {
		r.Cells = append(r.Cells, cell{Store: "sqlite", Coordinators: 1, Runners: runners, Filled: filled, PerSecond: rate})
	}
	add(100, 0, 900)
	add(1000, 0, 1000)
	for _, name := range []string{"sqlite: slowest fleet of fastest", "sqlite: slowest number of stored results of fastest"} {
		g := named(r, name)
		assert.True(t, math.IsNaN(g.Measured), name)
		assert.False(t, g.Met(), name)
	}
	add(10_000, 0, 850)
	add(1000, 1e6, 700)
	assert.InDelta(t, 0.85, named(r, "sqlite: slowest fleet of fastest").Measured, 1e-9)
	assert.InDelta(t, 0.7, named(r, "sqlite: slowest number of stored results of fastest").Measured, 1e-9)
	ends := flatness(r.Cells, func(c cell) string { return fmt.Sprint(c.Runners) },
		func(cell) bool { return true }, func(c cell) bool { return c.Runners == 100 })
	assert.InDelta(t, 1, ends, 1e-9, "of groups that reach from end to end")
}

func TestWhatIsLeftIsOfMedians(t *testing.T) {
	r := &results{options: options{guarded: true}, Bare: map[string]float64{}}
	goals := func() []bench.Goal { return r.guardedGoals() }
	for _, g := range goals() {
		assert.True(t, math.IsNaN(g.Measured))
		assert.False(t, g.Met())
	}
	add := func(guarded string, rate float64, call time.Duration) {
		r.Cells = append(r.Cells, cell{Store: "sqlite", Guarded: guarded, PerSecond: rate, CPU: call, RunnersCPU: call})
	}
	for i, rate := range []float64{100, 1000, 900} {
		add(guardedByNothing, rate, time.Duration(100+i)*time.Microsecond)
		add(guardedByAll, rate*0.8, time.Duration(202+2*i)*time.Microsecond)
	}
	assert.InDelta(t, 0.8, goals()[0].Measured, 1e-9)
	assert.InDelta(t, 101.0/204, goals()[1].Measured, 1e-9)
	assert.False(t, goals()[1].Met())
	for _, g := range r.goals() {
		if g.Name == "sqlite: share of bare inserts" {
			assert.True(t, math.IsNaN(g.Measured), "these cells are not among the others")
		}
	}
}
