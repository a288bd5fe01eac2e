package main

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"misstep/bench"
)

// span is the time to a bug, in iterations or seconds. A run that gave up is censored: the bug would have come later than At.
type span struct {
	At    float64
	Found bool
}

// median returns the median of partly censored times (Kaplan and Meier, 1958): the first time at which at least half of the runs
// have hit the bug. If fewer than half have, it is above the longest run, which is returned with known = false.
func median(spans []span) (at float64, known bool) {
	if len(spans) == 0 {
		return math.NaN(), false
	}
	spans = sorted(spans)
	alive := 1.0
	for i, s := range spans {
		if s.Found {
			left := float64(len(spans) - i)
			if alive *= 1 - 1/left; alive <= 0.5+1e-9 {
				return s.At, true
			}
		}
	}
	return spans[len(spans)-1].At, false
}

// atLeast returns the median if it is known, otherwise a lower bound. A race repeats the same thing, so the time to its bug is
// assumed to be exponentially distributed: with 95 % confidence its rate is not above the one that would have produced more bugs in
// the time of all runs together.
func atLeast(spans []span) float64 {
	at, known := median(spans)
	if known || len(spans) == 0 {
		return at
	}
	events, total := 0, 0.0
	for _, s := range spans {
		total += s.At
		if s.Found {
			events++
		}
	}
	return max(at, math.Ln2*total/mostEvents(events))
}

// mostEvents returns the upper end of the one-sided 95 % interval of a Poisson distribution's mean after so many observed events.
func mostEvents(seen int) float64 {
	low, high := 0.0, 10+3*float64(seen)
	for range 60 {
		mean := (low + high) / 2
		term, sum := math.Exp(-mean), 0.0
		for k := range seen + 1 {
			sum += term
			term *= mean / float64(k+1)
		}
		if sum > 0.05 {
			low = mean
		} else {
			high = mean
		}
	}
	return low
}

// medianInterval returns a confidence interval of at least 95 % for the median, by order statistics: the probability that the
// median lies between the k-th smallest and the k-th largest time follows from the binomial distribution. For the lower end a
// censored run counts with its length, for the upper end as infinite.
func medianInterval(spans []span) (low, high float64) {
	n := len(spans)
	k, below := 0, 0.0
	for ; k < n; k++ {
		below += choose(n, k) / math.Exp2(float64(n))
		if 2*below > 0.05 {
			break
		}
	}
	if k == 0 {
		return 0, math.Inf(1)
	}
	var from, to []float64
	for _, s := range spans {
		from = append(from, s.At)
		if !s.Found {
			s.At = math.Inf(1)
		}
		to = append(to, s.At)
	}
	slices.Sort(from)
	slices.Sort(to)
	return from[k-1], to[n-k]
}

func choose(n, k int) float64 {
	c := 1.0
	for i := range k {
		c = c * float64(n-i) / float64(i+1)
	}
	return c
}

// sorted returns the spans by time; among equal times those with the bug come first, since a censored run had not hit it by then.
func sorted(spans []span) []span {
	return slices.SortedStableFunc(slices.Values(spans), func(a, b span) int {
		if a.At == b.At && a.Found != b.Found {
			if a.Found {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.At, b.At)
	})
}

// logRank returns the log-rank statistic (Mantel, 1966): bugs of the first group minus those expected if both groups were equal.
func logRank(a, b []span) float64 {
	type mark struct {
		span
		first bool
	}
	var all []mark
	for _, s := range a {
		all = append(all, mark{s, true})
	}
	for _, s := range b {
		all = append(all, mark{s, false})
	}
	slices.SortFunc(all, func(x, y mark) int { return cmp.Compare(x.At, y.At) })
	first, total, sum := len(a), len(all), 0.0
	for i := 0; i < len(all); {
		j, bugs, ours, left := i, 0, 0, 0
		for ; j < len(all) && all[j].At == all[i].At; j++ { // equal times together
			if all[j].Found {
				bugs++
				if all[j].first {
					ours++
				}
			}
			if all[j].first {
				left++
			}
		}
		sum += float64(ours) - float64(bugs)*float64(first)/float64(total)
		first -= left
		total -= j - i
		i = j
	}
	return sum
}

const permutations = 10000

// sooner returns the probability, if both groups were equal, of a log-rank statistic at least as much in favour of a as the
// observed one: by permutation, which is valid for few runs, ties and censoring.
func sooner(a, b []span) float64 {
	if len(a) == 0 || len(b) == 0 {
		return math.NaN()
	}
	seen := logRank(a, b)
	all := slices.Concat(a, b)
	random := rand.New(rand.NewPCG(1, 2))
	as := 1
	for range permutations {
		random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		if logRank(all[:len(a)], all[len(a):]) >= seen-1e-9 {
			as++
		}
	}
	return float64(as) / (permutations + 1)
}

// ratioOfHits returns the sum of the pairs' first numbers divided by that of their second ones, with a 95 % interval by the
// bootstrap over pairs, since the tries of one recorded run are not independent. Half a hit is added to each sum to avoid a
// division by zero.
func ratioOfHits(pairs [][2]int) (ratio, low, high float64) {
	if len(pairs) == 0 {
		return math.NaN(), math.NaN(), math.NaN()
	}
	random := rand.New(rand.NewPCG(1, 2))
	of := func(pick func(int) int) float64 {
		a, b := 0.5, 0.5
		for i := range pairs {
			p := pairs[pick(i)]
			a, b = a+float64(p[0]), b+float64(p[1])
		}
		return a / b
	}
	all := make([]float64, 4000)
	for i := range all {
		all[i] = of(func(int) int { return random.IntN(len(pairs)) })
	}
	return of(func(i int) int { return i }), bench.Quantile(all, 0.025), bench.Quantile(all, 0.975)
}
