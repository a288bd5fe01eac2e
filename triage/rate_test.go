package triage_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"misstep/internal/interval"
	"misstep/triage"
)

// Values of R's fisher.test(matrix(c(a, n-a, b, m-b), 2))$p.value.
func TestFisher(t *testing.T) {
	for _, c := range []struct {
		a, n, b, m uint64
		p          float64
	}{
		{3, 4, 1, 4, 0.4857142857}, // Fisher's own tea
		{10, 10, 0, 10, 1.082508822e-05},
		{1, 10, 11, 14, 0.002759456185},
		{0, 5, 0, 7, 1},
		{5, 5, 7, 7, 1},
		{0, 0, 3, 7, 1},
	} {
		assert.InEpsilon(t, c.p, triage.Fisher(c.a, c.n, c.b, c.m), 1e-8, "%d of %d and %d of %d", c.a, c.n, c.b, c.m)
		assert.InEpsilon(t, c.p, triage.Fisher(c.b, c.m, c.a, c.n), 1e-8, "the order does not matter")
	}
}

func TestFactors(t *testing.T) {
	cell := func(jdk, interval string, hits, trials uint64) triage.Cell {
		return triage.Cell{Values: map[string]string{"jdk": jdk, "interval": interval, "workload": "w"}, Hits: hits, Trials: trials}
	}
	got := triage.Factors([]triage.Cell{
		cell("17", "1ms", 2, 40), cell("25", "1ms", 3, 40), cell("17", "100µs", 20, 40), cell("25", "100µs", 22, 40),
	})
	type row struct {
		dimension, value string
		hits, trials     uint64
		effect           int32
	}
	var rows []row
	for _, f := range got {
		rows = append(rows, row{f.GetDimension(), f.GetValue(), f.GetHits(), f.GetTrials(), f.GetEffect()})
		low, high := interval.Wilson(f.GetHits(), f.GetTrials())
		assert.Equal(t, []float64{low, high}, []float64{f.GetLow(), f.GetHigh()})
	}
	// A dimension with one value (workload) says nothing; the JDK makes no difference, the interval does.
	assert.Equal(t,
		[]row{{"jdk", "25", 25, 80, 0}, {"jdk", "17", 22, 80, 0}, {"interval", "100µs", 42, 80, 1}, {"interval", "1ms", 5, 80, -1}},
		rows)
}
