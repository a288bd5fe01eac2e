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
