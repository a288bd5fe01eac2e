package main

import (
	"fmt"
	"math"
	"testing"

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
