package reproduce

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
)

// The comparisons keep the errors they state although the reference's rate is only known from its own tries, whatever it is.
func TestErrorsOfTheComparisons(t *testing.T) {
	random := rand.New(rand.NewPCG(8303444, 5))
	const (
		runs  = 400
		ended = 0.03 // by patience alone
	)
	single, early := finalTests(4)
	for _, p := range []float64{0.95, 0.4, 0.1} {
		for _, x := range []struct {
			name string
			comparison
		}{{"coarse", coarse}, {"keeps well", keepsWell}, {"keeps most", keepsMost}, {"single of 4", single}, {"early", early}} {
			name, c := x.name, x.comparison
			wrong := func(share float64, v verdict) (wrong, tries float64) {
				n, sum := 0, 0
				for range runs {
					least := int(referenceHits / 2 / p)
					reference := draws(random, counts{}, least, p)
					for of := (counts{}); ; {
						got := c.judge(reference, of)
						if got != undecided {
							sum += of.tries
							if got == v {
								n++
							}
							break
						}
						of = draws(random, of, stepSize(reference), share*p)
						reference = draws(random, reference, of.tries-reference.tries, p)
					}
				}
				return float64(n) / runs, float64(sum) / runs
			}
			alpha, long := wrong(c.lower, high)
			beta, short := wrong(c.upper, low)
			_, whole := wrong(1, low)
			t.Logf("%-11s p %.2f: alpha %.3f of %.3f in %.1f/p tries, beta %.3f of %.3f in %.1f/p; %.1f/p at p", name, p, alpha,
				c.alpha, long*p, beta, c.beta, short*p, whole*p)
			assert.LessOrEqual(t, alpha, 1.5*c.alpha+ended, "%s at %g", name, p)
			assert.LessOrEqual(t, beta, 1.5*c.beta+ended, "%s at %g", name, p)
		}
	}
}

// draws adds n tries at a rate; none when n is negative.
func draws(r *rand.Rand, c counts, n int, rate float64) counts {
	for range n {
		c.add(r.Float64() < rate)
	}
	return c
}

// The best likelihood is the greatest of all rates.
func TestBestLikelihood(t *testing.T) {
	for _, x := range []struct {
		reference, of counts
		share         float64
	}{
		{counts{10, 25}, counts{3, 20}, 0.4},
		{counts{10, 10}, counts{0, 5}, 0.8},
		{counts{1, 400}, counts{0, 0}, 1},
		{counts{20, 20}, counts{7, 7}, 1},
		{counts{5, 50}, counts{9, 9}, 0.55},
	} {
		most := math.Inf(-1)
		for i := 1; i <= 100_000; i++ {
			p := float64(i) / 100_000
			most = max(most, timesLog(float64(x.reference.hits+x.of.hits), math.Log(p))+
				timesLog(float64(x.of.hits), math.Log(x.share))+
				timesLog(float64(x.reference.tries-x.reference.hits), math.Log1p(-p))+
				timesLog(float64(x.of.tries-x.of.hits), math.Log1p(-x.share*p)))
		}
		assert.InDelta(t, most, maxLogLikelihood(x.reference, x.of, x.share), 1e-4, "%v", x)
		assert.GreaterOrEqual(t, maxLogLikelihood(x.reference, x.of, x.share), most-1e-9, "%v", x)
	}
}

// The comparison asks for the fewest tries after which a verdict is possible.
func TestNoTriesAreWasted(t *testing.T) {
	reference := counts{25, 25}
	c := keepsWell
	n := c.triesNeeded(reference, counts{})
	assert.Equal(t, undecided, c.judge(reference, counts{0, n - 1}))
	assert.Equal(t, undecided, c.judge(reference, counts{n - 1, n - 1}))
	assert.True(t, c.judge(reference, counts{0, n}) == low || c.judge(reference, counts{n, n}) == high)
}
