package reproduce

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
)

// The test of amplifying keeps the errors it states, whatever the rate, truncated as it is.
func TestErrorsOfHelps(t *testing.T) {
	random := rand.New(rand.NewPCG(8303444, 4))
	const runs = 1000
	for _, p := range []float64{0.25, 0.1, 0.02} {
		te := amplificationTest(p)
		wrong := func(rate float64, v verdict) (share, tries float64) {
			n, sum := 0, 0
			for range runs {
				var results []bool
				for {
					got, used, more := te.judge(results)
					if got != undecided {
						sum += used
						if got == v {
							n++
						}
						break
					}
					for range more {
						results = append(results, random.Float64() < rate)
					}
				}
			}
			return float64(n) / runs, float64(sum) / runs
		}
		alpha, long := wrong(te.lower, high)
		beta, short := wrong(te.upper, low)
		t.Logf("p %.2f: alpha %.4f of %.2f in %.1f/p tries, beta %.4f of %.2f in %.1f/p", p, alpha, te.alpha, long*p, beta, te.beta,
			short*p)
		assert.LessOrEqual(t, alpha, te.alpha+0.02)
		assert.LessOrEqual(t, beta, te.beta+0.02)
	}
}
