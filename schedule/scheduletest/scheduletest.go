// Package scheduletest has the statistics shared by the tests of the policy and of the scheduler in the kernel.
package scheduletest

import (
	"math"
	"slices"
)

// Kolmogorov returns the largest distance between the empirical distribution of draws, which it sorts, and cdf.
func Kolmogorov(draws []float64, cdf func(float64) float64) float64 {
	slices.Sort(draws)
	distance, n := 0.0, float64(len(draws))
	for i, x := range draws {
		// At a step of a discrete distribution the value itself counts as below.
		if i+1 < len(draws) && draws[i+1] == x {
			continue
		}
		distance = math.Max(distance, math.Abs(float64(i+1)/n-cdf(x)))
	}
	return distance
}

// Octaves returns the distribution function of misstep_octaves: linear in the logarithm that is itself linear within each octave.
func Octaves(low, high float64) func(float64) float64 {
	log := func(x float64) float64 { e := math.Floor(math.Log2(x)); return e + x/math.Exp2(e) - 1 }
	return func(x float64) float64 { return (log(x) - log(low)) / (log(high) - log(low)) }
}

// Critical returns the 0.1 % point of the Kolmogorov distribution. The seeds are fixed, so the tests cannot fail by chance.
func Critical(n int) float64 { return 1.95 / math.Sqrt(float64(n)) }
