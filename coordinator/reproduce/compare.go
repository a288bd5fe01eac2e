package reproduce

import (
	"math"
	"slices"
	"sort"
)

// comparison is a sequential test of a recipe's rate against the rate p of another recipe, the reference, whose own tries are all
// that is known about p. The logarithm of the likelihood ratio of upper·p to lower·p, each with the p that fits all tries best, is
// compared with Wald's bounds, so an unlucky measurement of the reference makes a test longer instead of wrong.
//
// A verdict is a property of the recipe, not of the occasion: the same tries may be judged again with stricter errors, and only the
// missing ones are made. The bounds hold for the whole path.
type comparison struct {
	// upper and lower shares of the reference's rate, 0 < lower < upper ≤ 1.
	upper, lower float64
	// alpha is the chance of judging lower·p high, beta that of judging upper·p low (measured in compare_test.go).
	alpha, beta float64
	// patience bounds the tries: after patience·(1−p)/p of them plus extraHits/p, the likelier verdict is taken. Without a bound, a
	// rate half-way between the two would take longest of all, and there either verdict is right.
	patience float64
}

// counts are the hits among a number of tries.
type counts struct{ hits, tries int }

func (c counts) rate() float64 { return (float64(c.hits) + 0.5) / (float64(c.tries) + 1) }

func (c *counts) add(hit bool) {
	if c.tries++; hit {
		c.hits++
	}
}

// llr returns the logarithm of the likelihood ratio of upper to lower.
func (c comparison) llr(reference, of counts) float64 {
	return maxLogLikelihood(reference, of, c.upper) - maxLogLikelihood(reference, of, c.lower)
}

// maxLogLikelihood returns the greatest log-likelihood of the tries when the reference's rate is p and the other share·p. Its p
// solves H/p = m/(1-p) + share·n/(1-share·p), with H hits in all, m misses of the reference and n of the other: a quadratic
// equation whose smaller root lies in [0, 1].
func maxLogLikelihood(reference, of counts, share float64) float64 {
	hits := float64(reference.hits + of.hits)
	m, n := float64(reference.tries-reference.hits), float64(of.tries-of.hits)
	a, b := share*(hits+m+n), hits*(1+share)+m+n*share
	p := 2 * hits / (b + math.Sqrt(max(0, b*b-4*a*hits)))
	return timesLog(hits, math.Log(p)) + timesLog(float64(of.hits), math.Log(share)) +
		timesLog(m, math.Log1p(-p)) + timesLog(n, math.Log1p(-share*p))
}

// timesLog returns x·log with 0·log 0 = 0.
func timesLog(x, log float64) float64 {
	if x == 0 {
		return 0
	}
	return x * log
}

// bounds returns the log-likelihood ratios at which the test ends.
func (c comparison) bounds() (accept, reject float64) {
	return math.Log((1 - c.beta) / c.alpha), math.Log(c.beta / (1 - c.alpha))
}

// maxTries bounds the tries of a recipe.
func (c comparison) maxTries(reference counts) int {
	const extraHits = 30
	p := reference.rate()
	return int(math.Ceil((c.patience*(1-p) + extraHits) / p))
}

// judge returns what follows from the counts.
func (c comparison) judge(reference, of counts) verdict {
	accept, reject := c.bounds()
	llr := c.llr(reference, of)
	atLimit := of.tries >= c.maxTries(reference)
	switch {
	case llr >= accept, atLimit && llr > 0:
		return high
	case llr <= reject, atLimit:
		return low
	}
	return undecided
}

// triesNeeded returns how many more tries to ask for: the fewest after which a verdict is possible, so that none is wasted, but at
// least stepSize, so that rare bugs do not hold up a fleet. It is also a verdict when any of the rejecting comparisons says low.
func (c comparison) triesNeeded(reference, of counts, rejecting ...comparison) int {
	least, rest := stepSize(reference), c.maxTries(reference)-of.tries
	if least >= rest {
		return max(rest, 1)
	}
	return least + sort.Search(rest-least, func(i int) bool {
		n := least + i
		allMiss := counts{of.hits, of.tries + n}
		return c.judge(reference, counts{of.hits + n, of.tries + n}) == high || c.verdict(reference, allMiss, rejecting) == low
	})
}

// verdict returns c's own verdict, or low when c is undecided and any of the rejecting comparisons says low.
func (c comparison) verdict(reference, of counts, rejecting []comparison) verdict {
	v := c.judge(reference, of)
	if v == undecided && slices.ContainsFunc(rejecting, func(c comparison) bool { return c.judge(reference, of) == low }) {
		return low
	}
	return v
}

// stepSize returns half of the tries that a hit takes on average. The tries of a recipe are judged in steps of this size.
func stepSize(reference counts) int { return max(1, int(0.5/reference.rate())) }
