package retest

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestJudge(t *testing.T) {
	for _, c := range []struct {
		known, now Count
		want       State
	}{
		{Count{10, 10}, Count{10, 10}, StillPresent},
		{Count{10, 10}, Count{0, 0}, Void},
		{Count{10, 10}, Count{0, 3}, Unclear},
		{Count{10, 10}, Count{0, 4}, Fixed}, // low end 0.722: 0.278^4 = 0.006
		{Count{1, 100}, Count{0, 100}, Unclear},
		{Count{1, 100}, Count{0, 3000}, Fixed}, // low end 0.0018
		{Count{50, 100}, Count{5, 100}, LessFrequent},
		{Count{5, 100}, Count{50, 100}, MoreFrequent},
		{Count{50, 100}, Count{40, 100}, StillPresent},
		{Count{0, 100}, Count{0, 1000}, Unclear},
		{Count{0, 0}, Count{1, 10}, StillPresent},
		{Count{0, 0}, Count{0, 10}, Unclear},
	} {
		assert.Equal(t, c.want, Judge(c.known, c.now, 0.99).State, "%+v", c)
	}
	assert.EqualValues(t, 4, Needed(Count{10, 10}, 0.99))
	assert.Zero(t, Needed(Count{0, 10}, 0.99))
}

// TestErrorRates simulates bugs that are present at their old rate: verdicts of fixed or changed must not exceed the stated error
// rate.
func TestErrorRates(t *testing.T) {
	const confidence, rounds = 0.95, 4000
	random := rand.New(rand.NewPCG(6, 2026))
	draw := func(p float64, n uint64) Count {
		c := Count{Tries: n}
		for range n {
			if random.Float64() < p {
				c.Hits++
			}
		}
		return c
	}
	for _, p := range []float64{0.02, 0.1, 0.5, 0.9} {
		wrongFixed, wrongChanged, foundFixed := 0, 0, 0
		for range rounds {
			known := draw(p, 60)
			if known.Hits == 0 {
				continue
			}
			switch Judge(known, draw(p, Needed(known, confidence)), confidence).State {
			case Fixed:
				wrongFixed++
			case LessFrequent, MoreFrequent:
				wrongChanged++
			}
			if Judge(known, Count{Tries: Needed(known, confidence)}, confidence).State == Fixed {
				foundFixed++
			}
		}
		// The interval's low end lies above the rate in 2.5 % of the cases, which adds to the 5 % of the test itself.
		assert.Less(t, float64(wrongFixed)/rounds, 0.05, "p=%v", p)
		assert.Less(t, float64(wrongChanged)/rounds, 0.05, "p=%v", p)
		assert.Positive(t, foundFixed)
	}
}
