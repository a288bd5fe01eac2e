// Package interval computes confidence intervals of measured rates.
package interval

import "math"

// Wilson returns the ends of the 95 % score interval of a rate of hits in trials (E. B. Wilson, 1927). Without trials it is [0, 1].
func Wilson(hits, trials uint64) (low, high float64) {
	if trials == 0 {
		return 0, 1
	}
	const z = 1.959963984540054
	n, p := float64(trials), float64(min(hits, trials))/float64(trials)
	middle := p + z*z/(2*n)
	half := z * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return max(0, (middle-half)/(1+z*z/n)), min(1, (middle+half)/(1+z*z/n))
}

// ExactUpper returns the upper end of the exact 95 % interval of a rate of hits in trials (C. J. Clopper, E. S. Pearson, 1934): the
// rate at which that few hits have a probability of 2.5 %. Without trials it is 1.
func ExactUpper(hits, trials uint64) float64 {
	if hits >= trials {
		return 1
	}
	low, high := float64(hits)/float64(trials), 1.0
	for range 60 {
		if p := (low + high) / 2; atMost(hits, trials, p) > 0.025 {
			low = p
		} else {
			high = p
		}
	}
	return high
}

// Exact returns the ends of the exact 95 % interval of a rate of hits in trials. Without trials it is [0, 1].
func Exact(hits, trials uint64) (low, high float64) {
	hits = min(hits, trials)
	return 1 - ExactUpper(trials-hits, trials), ExactUpper(hits, trials)
}

// atMost is the probability of at most hits in trials at the rate p. Terms are added from the largest, the last one, downwards,
// until they no longer count; hits is below the expected number.
func atMost(hits, trials uint64, p float64) float64 {
	n, k := float64(trials), float64(hits)
	choose, _ := math.Lgamma(n + 1)
	below, _ := math.Lgamma(k + 1)
	rest, _ := math.Lgamma(n - k + 1)
	term := math.Exp(choose - below - rest + k*math.Log(p) + (n-k)*math.Log1p(-p))
	total := term
	for ; k > 0 && term > 1e-12*total; k-- {
		term *= k / (n - k + 1) * (1 - p) / p
		total += term
	}
	return total
}
