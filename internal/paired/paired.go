// Package paired tells from pairs of measurements whether what was measured second differs from what was measured first.
//
// A pair is two trials of the same recipe that ran one after the other in random order, so that a machine that becomes slower, or a
// recipe that is harder than others, changes both alike. The unit is the trial: the samples within one are not independent, and
// their number says nothing about how sure a comparison is.
package paired

import (
	"math"
	"math/bits"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat/distuv"
)

// Pair is the share that was measured in the first and in the second trial of a pair, neither below 0.
type Pair struct{ Before, After float64 }

// differences are those of the pairs' square roots, without those that are 0. A count's spread grows with its root, so a root lets
// each recipe weigh by what it can tell instead of by its rate, and one trial with a burst outweighs less.
func differences(pairs []Pair) []float64 {
	var d []float64
	for _, p := range pairs {
		if p.Before != p.After {
			d = append(d, math.Sqrt(p.After)-math.Sqrt(p.Before))
		}
	}
	return d
}

// Discordant is the number of pairs whose two shares differ.
func Discordant(pairs []Pair) int { return len(differences(pairs)) }

// LeastP is the smallest p-value that a test of so many discordant pairs can give: all differ in the same direction.
func LeastP(discordant int) float64 { return math.Min(1, math.Ldexp(1, 1-discordant)) }

const (
	// exactUpTo discordant pairs all assignments are counted.
	exactUpTo = 14
	// maxDraws is the number of random assignments for more pairs, and enough the number of those at least as extreme as the
	// observed one after which no more are drawn (J. Besag, P. Clifford, Sequential Monte Carlo p-values, 1991).
	maxDraws = 1 << 15
	enough   = 60
)

// P is the p-value of the hypothesis that both trials of each pair come from the same build, two-sided: the share of all ways to
// call one trial of each pair the first whose sum of differences is at least as far from 0 as the observed one. Nothing is assumed
// about how shares are distributed. It is 1 without discordant pairs. The same pairs give the same value.
func P(pairs []Pair) float64 {
	d := differences(pairs)
	seen := math.Abs(sum(d, 0))
	seen -= 1e-9 * seen // equal sums differ by rounding
	if len(d) <= exactUpTo {
		hits := 0
		for signs := range uint64(1) << len(d) {
			if math.Abs(sum(d, signs)) >= seen {
				hits++
			}
		}
		return float64(hits) / math.Ldexp(1, len(d))
	}
	random := rand.New(rand.NewPCG(uint64(len(d)), 0x706169726564))
	hits := 0
	for draw := 1; draw <= maxDraws; draw++ {
		total := 0.0
		for rest := d; len(rest) > 0; {
			n := min(len(rest), bits.UintSize)
			total += sum(rest[:n], random.Uint64())
			rest = rest[n:]
		}
		if math.Abs(total) < seen {
			continue
		}
		if hits++; hits == enough {
			return float64(hits) / float64(draw)
		}
	}
	return float64(hits+1) / (maxDraws + 1)
}

// sum adds up the values, those whose bit in signs is set with the opposite sign.
func sum(d []float64, signs uint64) float64 {
	total := 0.0
	for i, x := range d {
		if signs>>i&1 == 1 {
			x = -x
		}
		total += x
	}
	return total
}

// Direction is 1 when the second trials' shares are larger by the test's measure, -1 when they are smaller, 0 when neither.
func Direction(pairs []Pair) int {
	switch total := sum(differences(pairs), 0); {
	case total > 0:
		return 1
	case total < 0:
		return -1
	}
	return 0
}

// Ratio is the mean share after divided by that before.
type Ratio struct {
	// Value is NaN if both are 0, infinite if only the one before is.
	Value float64
	// Low and High are the ends of the 95 % interval; 0 and infinity where too few trials have any to tell.
	Low, High float64
	// Error is the standard error of the logarithm of Value, infinite where that cannot be told.
	Error float64
}

// RatioOf estimates the ratio by the mean of the pairs, and its interval by leaving out each pair in turn (the jackknife of a
// ratio: M. H. Quenouille, 1956; J. W. Tukey, 1958) and Student's distribution.
func RatioOf(pairs []Pair) Ratio {
	var before, after float64
	for _, p := range pairs {
		before += p.Before
		after += p.After
	}
	r := Ratio{Value: after / before, High: math.Inf(1), Error: math.Inf(1)}
	n := float64(len(pairs))
	if before == 0 || after == 0 || n < leastPairs {
		return r
	}
	var mean, squares float64
	without := make([]float64, len(pairs))
	for i, p := range pairs {
		a, b := rest(after, p.After), rest(before, p.Before)
		if a == 0 || b == 0 { // all rests on one pair
			return r
		}
		without[i] = math.Log(a / b)
		mean += without[i] / n
	}
	for _, x := range without {
		squares += (x - mean) * (x - mean)
	}
	r.Error = math.Sqrt((n - 1) / n * squares)
	half := student(n-1) * r.Error
	r.Low, r.High = r.Value*math.Exp(-half), r.Value*math.Exp(half)
	return r
}

// leastPairs is the number of pairs below which no interval is given.
const leastPairs = 4

// rest is a sum without one of its terms, 0 if that is all of it but for rounding.
func rest(sum, term float64) float64 {
	if left := sum - term; left > 1e-12*sum {
		return left
	}
	return 0
}

// student is the 97.5 % quantile of Student's distribution.
func student(degrees float64) float64 {
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: degrees}.Quantile(0.975)
}
