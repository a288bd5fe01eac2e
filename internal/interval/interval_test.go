package interval_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/internal/interval"
)

// By definition, the ends of the interval are the rates p from which the observed rate lies z standard errors away.
func TestWilson(t *testing.T) {
	const z = 1.96
	for _, c := range [][2]uint64{{1, 100}, {50, 100}, {8, 10}, {1, 2}, {999, 100_000}, {0, 10}, {10, 10}} {
		low, high := interval.Wilson(c[0], c[1])
		n, seen := float64(c[1]), float64(c[0])/float64(c[1])
		for _, p := range []float64{low, high} {
			if p > 0 && p < 1 {
				assert.InDelta(t, z, math.Abs(seen-p)/math.Sqrt(p*(1-p)/n), 1e-3, "%d of %d", c[0], c[1])
			}
		}
		assert.LessOrEqual(t, low, seen)
		assert.GreaterOrEqual(t, high, seen)
	}
	low, high := interval.Wilson(0, 0)
	assert.Equal(t, [2]float64{0, 1}, [2]float64{low, high}, "without trials nothing is known")
	low, high = interval.Wilson(0, 10)
	assert.Zero(t, low)
	assert.InDelta(t, 0.2775, high, 1e-4)
	_, high = interval.Wilson(10, 10)
	assert.InDelta(t, 1, high, 1e-12)
}

func TestWilsonAgainstR(t *testing.T) {
	low, high := interval.Wilson(0, 10)
	require.InDelta(t, 0, low, 1e-9)
	require.InDelta(t, 0.2775, high, 1e-4) // R: binom::binom.wilson(0, 10)
	low, high = interval.Wilson(8, 10)
	require.InDelta(t, 0.4902, low, 1e-4)
	require.InDelta(t, 0.9433, high, 1e-4)
	low, high = interval.Wilson(0, 0)
	require.InDelta(t, 0, low, 0)
	require.InDelta(t, 1, high, 0)
}

// R: binom.test(0, 10), binom.test(1, 100), binom.test(8, 10); of few in many it is the exact Poisson interval, poisson.test(3).
func TestExactUpperAgainstR(t *testing.T) {
	for _, c := range []struct {
		hits, trials uint64
		want, within float64
	}{
		{0, 10, 0.30850, 1e-5},
		{1, 100, 0.05446, 1e-5},
		{8, 10, 0.97479, 1e-5},
		{3, 1_000_000, 8.7673e-6, 1e-9},
		{10, 10, 1, 0},
		{0, 0, 1, 0},
	} {
		require.InDelta(t, c.want, interval.ExactUpper(c.hits, c.trials), c.within, "%d of %d", c.hits, c.trials)
	}
	require.Greater(t, interval.ExactUpper(100_000, 1_000_000), 0.1)
	require.Less(t, interval.ExactUpper(100_000, 1_000_000), 0.1007)
}

// R: binom.test(1, 20), binom.test(8, 10), binom.test(10, 10), binom.test(0, 10).
func TestExactAgainstR(t *testing.T) {
	for _, c := range []struct {
		hits, trials uint64
		low, high    float64
	}{
		{1, 20, 0.0012651, 0.2487328},
		{8, 10, 0.4439045, 0.9747893},
		{10, 10, 0.6915029, 1},
		{0, 10, 0, 0.3084971},
		{0, 0, 0, 1},
	} {
		low, high := interval.Exact(c.hits, c.trials)
		require.InDelta(t, c.low, low, 1e-7, "%d of %d", c.hits, c.trials)
		require.InDelta(t, c.high, high, 1e-7, "%d of %d", c.hits, c.trials)
	}
	low, high := interval.Exact(90, 1_000_000)
	require.Less(t, low, 90e-6)
	require.Greater(t, low, 70e-6)
	require.Less(t, high, 112e-6)
}
