package trust

import "math"

// tail returns the probability that the owner's hits, summed over the tables, are at least (above) or at most (otherwise) as many
// as they are, given the margins of the tables and the ratio of the owner's odds to the others'.
func tail(tables []stratum, odds float64, above bool) float64 {
	sum, observed, least := []float64{1}, uint64(0), uint64(0)
	for _, s := range tables {
		p, from := hypergeometric(s, odds)
		sum, observed, least = convolve(sum, p), observed+s.hits, least+from
	}
	p := 0.0
	for i, q := range sum {
		if x := least + uint64(i); above && x >= observed || !above && x <= observed {
			p += q
		}
	}
	return min(1, p)
}

// hypergeometric returns the probabilities of the owner's number of hits in a table, from the least possible number on.
func hypergeometric(s stratum, odds float64) (p []float64, least uint64) {
	hits := s.hits + s.otherHits
	if hits > s.otherTrials {
		least = hits - s.otherTrials
	}
	most := min(hits, s.trials)
	logs, top := make([]float64, most-least+1), math.Inf(-1)
	for i := range logs {
		x := least + uint64(i)
		logs[i] = choose(s.trials, x) + choose(s.otherTrials, hits-x) + float64(x)*math.Log(odds)
		top = max(top, logs[i])
	}
	p, total := logs, 0.0
	for i, l := range logs {
		p[i] = math.Exp(l - top)
		total += p[i]
	}
	for i := range p {
		p[i] /= total
	}
	return p, least
}

// choose is the logarithm of a binomial coefficient.
func choose(n, k uint64) float64 {
	return gamma(n) - gamma(k) - gamma(n-k)
}

func gamma(n uint64) float64 {
	l, _ := math.Lgamma(float64(n) + 1)
	return l
}

func convolve(a, b []float64) []float64 {
	c := make([]float64, len(a)+len(b)-1)
	for i, x := range a {
		for k, y := range b {
			c[i+k] += x * y
		}
	}
	return c
}
