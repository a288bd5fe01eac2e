package reproduce

import "math"

// verdict of a sequential test.
type verdict int

const (
	undecided verdict = iota
	high              // the rate is at least the upper one
	low               // the rate is at most the lower one
)

// test is A. Wald's sequential probability ratio test (1945) between two rates of hits, truncated: after most tries the likelier
// one is taken.
type test struct {
	// upper and lower rates, 0 < lower < upper < 1.
	upper, lower float64
	// alpha is the chance to take a rate of lower for high, beta that to take one of upper for low. Truncation adds to both: where
	// most is 60/p it is less than 0.002 (measured in sprt_test.go).
	alpha, beta float64
	most        int
}

// helps tests whether a neighbour's rate is three times p, or half way from p to 1 where that is less, rather than p. The ratio drifts
// upwards from 1.8·p on, so what doubles the rate is found as a rule, and a neighbour that does nothing costs 2.5/p tries.
func helps(p float64) test {
	return test{upper: min(3*p, (1+p)/2), lower: p, alpha: 0.02, beta: 0.1, most: int(math.Ceil(40 / p))}
}

// steps are the changes of the log-likelihood ratio by a hit and by a miss.
func (t test) steps() (hit, miss float64) {
	return math.Log(t.upper / t.lower), math.Log((1 - t.upper) / (1 - t.lower))
}

// bounds of the log-likelihood ratio at which the test ends.
func (t test) bounds() (accept, reject float64) {
	return math.Log((1 - t.beta) / t.alpha), math.Log(t.beta / (1 - t.alpha))
}

// judge takes results in the order of the tries. Without a verdict it says how many more tries to ask for: as many as are needed
// at least, so none is wasted, or half of a hit's wait, so that a fleet is not held up by rare bugs.
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
		case i+1 >= t.most && llr > 0:
			return high, i + 1, 0
		case i+1 >= t.most:
			return low, i + 1, 0
		}
	}
	more = int(min(math.Ceil((accept-llr)/hit), math.Ceil((reject-llr)/miss)))
	more = max(more, int(0.5/t.upper), 1)
	return undecided, len(results), min(more, t.most-len(results))
}
