package reproduce

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
)

// The tests keep the errors they state, whatever the rate, truncated as they are.
func TestErrorsOfTheTests(t *testing.T) {
	random := rand.New(rand.NewPCG(8303444, 4))
	const runs = 1000
	for _, p := range []float64{0.95, 0.5, 0.1, 0.02} {
		for name, te := range map[string]test{"keeps": keeps(p), "keepsMost": keepsMost(p), "helps": helps(p)} {
			if name == "helps" && p > often {
				continue // never used there
			}
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
			t.Logf("%-9s p %.2f: alpha %.4f of %.2f in %.1f/p tries, beta %.4f of %.2f in %.1f/p", name, p, alpha, te.alpha, long*p, beta, te.beta, short*p)
			assert.LessOrEqual(t, alpha, te.alpha+0.02)
			assert.LessOrEqual(t, beta, te.beta+0.02)
		}
	}
}

// Nothing is asked for beyond what is needed at least, but half of a hit's wait.
func TestNothingIsWasted(t *testing.T) {
	te := keeps(0.9)
	_, _, more := te.judge(nil)
	assert.Equal(t, 4, more, "four misses reject")
	v, used, _ := te.judge([]bool{false, false, false, false})
	assert.Equal(t, low, v)
	assert.Equal(t, 4, used)
	v, used, _ = te.judge([]bool{true, true, true, true, true, true, true})
	assert.Equal(t, high, v)
	assert.Equal(t, 5, used)
}
