package reproduce

import "math"

// verdict of a sequential test.
type verdict int

const (
	undecided verdict = iota
	high              // the rate is at least the upper one
	low               // the rate is at most the lower one
)

// test is A. Wald's sequential probability ratio test (1945) between two rates of hits, truncated: after maxTries tries the
// likelier one is taken.
type test struct {
	// upper and lower rates, 0 < lower < upper < 1.
	upper, lower float64
	// alpha is the chance of judging a rate of lower high, beta that of judging a rate of upper low. Truncation adds to both: less
	// than 0.002 where maxTries is 60/p (measured in sprt_test.go).
	alpha, beta float64
	maxTries    int
}

// amplificationTest tests whether a neighbour's rate is three times p, or half-way from p to 1 where that is less, rather than p.
// The ratio drifts upwards from 1.8·p on, so a neighbour that doubles the rate is usually found, and one without effect costs 2.5/p
// tries.
func amplificationTest(p float64) test {
	return test{upper: min(3*p, (1+p)/2), lower: p, alpha: 0.02, beta: 0.1, maxTries: int(math.Ceil(40 / p))}
}

// steps are the changes of the log-likelihood ratio by a hit and by a miss.
func (t test) steps() (hit, miss float64) {
	return math.Log(t.upper / t.lower), math.Log((1 - t.upper) / (1 - t.lower))
}

// bounds returns the log-likelihood ratios at which the test ends.
func (t test) bounds() (accept, reject float64) {
	return math.Log((1 - t.beta) / t.alpha), math.Log(t.beta / (1 - t.alpha))
}

// judge takes results in the order of the tries. Without a verdict it returns how many more tries to ask for: the fewest after
// which a verdict is possible, so that none is wasted, but at least half of the tries that a hit takes on average, so that rare
// bugs do not hold up a fleet.
func (t test) judge(results []bool) (v verdict, used, more int) {
	accept, reject := t.bounds()
	hit, miss := t.steps()
	llr := 0.0
	for i, r := range results {
		if r {
			llr += hit
		} else {
			llr += miss
		}
		switch {
		case llr >= accept:
			return high, i + 1, 0
		case llr <= reject:
			return low, i + 1, 0
		case i+1 >= t.maxTries && llr > 0:
			return high, i + 1, 0
		case i+1 >= t.maxTries:
			return low, i + 1, 0
		}
	}
	more = int(min(math.Ceil((accept-llr)/hit), math.Ceil((reject-llr)/miss)))
	more = max(more, int(0.5/t.upper), 1)
	return undecided, len(results), min(more, t.maxTries-len(results))
}
