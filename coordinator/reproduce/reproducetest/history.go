package reproducetest

import (
	"fmt"
	"math"
	"math/rand/v2"

	"misstep/coordinator/bisect"
)

// History is a bug that was introduced by one build, perhaps fixed by a later one, and hits at random.
type History struct {
	Builds []bisect.Build
	// Rates by build; 0 does not have the bug.
	Rates []float64
	// Found is the build on which it was found, with the rate P.
	Found int
	P     float64
}

// RandomHistory has 4 to 24 builds of up to four feature releases, a rate from 0.05 to 1, each octave as likely, and rates of the
// other affected builds between half of it and one and a half.
func RandomHistory(r *rand.Rand) History {
	h := History{P: math.Pow(0.05, r.Float64())}
	n := 4 + r.IntN(21)
	features := 1 + r.IntN(4)
	for i := range n {
		f := 8 + 4*(i*features/n)
		h.Builds = append(h.Builds, bisect.Build{Name: fmt.Sprint(i), Feature: f, Version: fmt.Sprintf("%d.0.%d+1", f, i)})
	}
	from := r.IntN(n)
	to := from + 1 + r.IntN(n-from)
	if r.IntN(2) == 0 {
		to = n
	}
	h.Rates = make([]float64, n)
	for i := from; i < to; i++ {
		h.Rates[i] = min(1, h.P*(0.5+r.Float64()))
	}
	h.Found = from + r.IntN(to-from)
	h.Rates[h.Found] = h.P
	return h
}

// Bisect runs a bisection as a reproduction does, and returns how many tries it took and whether its likeliest history is the true
// one.
func (h History) Bisect(r *rand.Rand, confidence float64) (answer bisect.Answer, tries int, right bool) {
	evidence := make([]bisect.Evidence, len(h.Builds))
	try := func(i, n int) {
		for range n {
			evidence[i].Tries++
			if r.Float64() < h.Rates[i] {
				evidence[i].Hits++
			}
		}
	}
	for evidence[h.Found].Hits < 12 { // as confirming does
		try(h.Found, 1)
	}
	prior := bisect.FromRate(evidence[h.Found].Hits, evidence[h.Found].Tries)
	for {
		answer = bisect.Weigh(h.Builds, evidence, prior)
		i, n := bisect.Choose(evidence, prior, answer)
		if answer.Confidence >= confidence || i < 0 || float64(tries) > 4000/h.P {
			break
		}
		try(i, n)
		tries += n
	}
	right = true
	for i := range h.Rates {
		right = right && answer.Best[i] == (h.Rates[i] > 0)
	}
	return answer, tries, right
}
