package reproduce

import (
	"math"
	"slices"
	"sort"
)

// comparison is a sequential test of a recipe's rate against the rate p of another recipe, the reference, whose own tries are all that is
// known of p. The logarithm of the likelihood ratio of upper·p against lower·p, each with the p that suits all tries best, is compared
// with Wald's bounds. So an unlucky measure of the reference makes a test longer instead of wrong.
//
// A verdict holds for the recipe and not for the occasion: the same tries may be judged again with stricter errors, and only what is
// lacking is tried. The bounds hold for the whole path.
type comparison struct {
	// upper and lower shares of the reference's rate, 0 < lower < upper ≤ 1.
	upper, lower float64
	// alpha is the chance to take lower·p for high, beta that to take upper·p for low (measured in compare_test.go).
	alpha, beta float64
	// patience bounds the tries: after patience·(1−p)/p of them, and some hits' wait, the likelier one is taken. Without a bound a rate half-way
	// between the two would take the longest of all, and there either verdict is right.
	patience float64
}

// counts are hits of tries.
type counts struct{ hits, tries int }

func (c counts) rate() float64 { return (float64(c.hits) + 0.5) / (float64(c.tries) + 1) }

func (c *counts) add(hit bool) {
	if c.tries++; hit {
		c.hits++
	}
}

// llr is the logarithm of the likelihood ratio of upper against lower.
func (c comparison) llr(reference, of counts) float64 {
	return best(reference, of, c.upper) - best(reference, of, c.lower)
}

// best is the greatest log-likelihood of the tries when the one rate is p and the other share·p. Its p solves
// H/p = m/(1-p) + share·n/(1-share·p), with H hits in all, m misses of the reference and n of the other: a quadratic equation whose smaller
// root lies in [0, 1].
func best(reference, of counts, share float64) float64 {
	hits := float64(reference.hits + of.hits)
	m, n := float64(reference.tries-reference.hits), float64(of.tries-of.hits)
	a, b := share*(hits+m+n), hits*(1+share)+m+n*share
	p := 2 * hits / (b + math.Sqrt(max(0, b*b-4*a*hits)))
	return times(hits, math.Log(p)) + times(float64(of.hits), math.Log(share)) + times(m, math.Log1p(-p)) + times(n, math.Log1p(-share*p))
}

// times is x·log with 0·log 0 = 0.
func times(x, log float64) float64 {
	if x == 0 {
		return 0
	}
	return x * log
}

// bounds of the log-likelihood ratio at which it ends.
func (c comparison) bounds() (accept, reject float64) {
	return math.Log((1 - c.beta) / c.alpha), math.Log(c.beta / (1 - c.alpha))
}

// most tries of a recipe.
func (c comparison) most(reference counts) int {
	const some = 30
	p := reference.rate()
	return int(math.Ceil((c.patience*(1-p) + some) / p))
}

// judge says what follows from the counts.
func (c comparison) judge(reference, of counts) verdict {
	accept, reject := c.bounds()
	llr := c.llr(reference, of)
	over := of.tries >= c.most(reference)
	switch {
	case llr >= accept, over && llr > 0:
		return high
	case llr <= reject, over:
		return low
	}
	return undecided
}

// lacks says how many more tries to ask for: as many as a verdict needs at least, so none is wasted, or half of a hit's wait, so that a
// fleet is not held up by rare bugs. A verdict is also that any of the others says low.
func (c comparison) lacks(reference, of counts, also ...comparison) int {
	least, rest := pace(reference), c.most(reference)-of.tries
	if least >= rest {
		return max(rest, 1)
	}
	return least + sort.Search(rest-least, func(i int) bool {
		n := least + i
		missed := counts{of.hits, of.tries + n}
		return c.judge(reference, counts{of.hits + n, of.tries + n}) == high || c.verdict(reference, missed, also) == low
	})
}

// verdict is its own, or low when it has none and any of the others says so.
func (c comparison) verdict(reference, of counts, also []comparison) verdict {
	v := c.judge(reference, of)
	if v == undecided && slices.ContainsFunc(also, func(c comparison) bool { return c.judge(reference, of) == low }) {
		return low
	}
	return v
}

// pace is half of a hit's wait: a recipe's tries are judged in steps of it.
func pace(reference counts) int { return max(1, int(0.5/reference.rate())) }
