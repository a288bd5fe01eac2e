package triage

import (
	"cmp"
	"math"
	"slices"

	"misstep/internal/interval"
	misstepv1 "misstep/proto/misstep/v1"
)

// Fisher returns the two-sided p-value of R. A. Fisher's exact test of whether a of n and b of m have the same rate: the
// probability of all tables with these margins that are no likelier than the observed one.
func Fisher(a, n, b, m uint64) float64 {
	a, b = min(a, n), min(b, m)
	hits, low := a+b, uint64(0)
	if hits > m {
		low = hits - m
	}
	choose := func(n, k uint64) float64 {
		lg := func(x uint64) float64 { v, _ := math.Lgamma(float64(x) + 1); return v }
		return lg(n) - lg(k) - lg(n-k)
	}
	logP := func(k uint64) float64 { return choose(n, k) + choose(m, hits-k) - choose(n+m, hits) }
	seen, p := logP(a), 0.0
	for k := low; k <= min(hits, n); k++ {
		if l := logP(k); l <= seen+1e-7 { // equal except for rounding
			p += math.Exp(l)
		}
	}
	return min(1, p)
}

// Cell holds the hits and trials of one combination of values, by dimension.
type Cell struct {
	Values       map[string]string
	Hits, Trials uint64
}

// Dimensions returns the dimensions of a trial by which rates are distinguished, in the order in which they are shown.
func Dimensions() []string {
	return []string{"jdk", "workload", "flag set", "perturbation", "ratio", "interval", "profiler"}
}

// Factors returns the rate for each value of each dimension that has at least two values, over all values of the others, and
// whether it differs from that of the dimension's other values by more than chance; the error level of 5 % is shared by all
// factors (Bonferroni). They are ordered by dimension, highest rate first.
func Factors(cells []Cell) []*misstepv1.FindingFactor {
	var out []*misstepv1.FindingFactor
	tests := 0
	for _, dimension := range Dimensions() {
		byValue := map[string]*misstepv1.FindingFactor{}
		for _, c := range cells {
			f := byValue[c.Values[dimension]]
			if f == nil {
				f = &misstepv1.FindingFactor{Dimension: dimension, Value: c.Values[dimension]}
				byValue[f.GetValue()] = f
			}
			f.Hits += c.Hits
			f.Trials += c.Trials
		}
		if len(byValue) < 2 {
			continue
		}
		var some []*misstepv1.FindingFactor
		for _, f := range byValue {
			f.Low, f.High = interval.Wilson(f.GetHits(), f.GetTrials())
			some = append(some, f)
		}
		slices.SortFunc(some, func(a, b *misstepv1.FindingFactor) int {
			return cmp.Or(cmp.Compare(rate(b.GetHits(), b.GetTrials()), rate(a.GetHits(), a.GetTrials())),
				cmp.Compare(a.GetValue(), b.GetValue()))
		})
		out = append(out, some...)
		if tests += len(some); len(some) == 2 {
			tests-- // two values are one test
		}
	}
	var hits, trials uint64
	for _, c := range cells {
		hits, trials = hits+c.Hits, trials+c.Trials
	}
	for _, f := range out {
		otherHits, otherTrials := hits-f.GetHits(), trials-f.GetTrials()
		if Fisher(f.GetHits(), f.GetTrials(), otherHits, otherTrials) < 0.05/float64(tests) {
			f.Effect = int32(cmp.Compare(rate(f.GetHits(), f.GetTrials()), rate(otherHits, otherTrials)))
		}
	}
	return out
}

func rate(hits, trials uint64) float64 {
	if trials == 0 {
		return 0
	}
	return float64(hits) / float64(trials)
}
