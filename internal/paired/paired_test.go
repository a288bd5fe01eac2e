package paired

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

// all pairs of which the second trial shows twice the share.
func doubled(n int) []Pair {
	pairs := make([]Pair, n)
	for i := range pairs {
		pairs[i] = Pair{0.1 * float64(i+1), 0.2 * float64(i+1)}
	}
	return pairs
}

func TestExactP(t *testing.T) {
	assert.InDelta(t, 1, P(nil), 0)
	assert.InDelta(t, 1, P([]Pair{{0, 0}, {2, 2}}), 0, "no pair differs")
	assert.InDelta(t, 1, P([]Pair{{1, 2}}), 0)
	assert.InDelta(t, 2.0/32, P(doubled(5)), 0, "two of 2^5 assignments are as far from 0")
	assert.InDelta(t, 6.0/8, P([]Pair{{0, 1}, {0, 4}, {1, 0}}), 0, "|±1 ±2 ±1| ≥ 2 holds for 6 of 8")
	assert.InDelta(t, LeastP(5), P(doubled(5)), 0)
}

// Random assignments agree with counting all of them.
func TestDrawnP(t *testing.T) {
	for n, want := range map[int]float64{15: LeastP(15), 20: LeastP(20)} {
		assert.LessOrEqual(t, P(doubled(n)), math.Max(4*want, 4.0/maxDraws), "%d pairs", n)
	}
	random := rand.New(rand.NewPCG(48, 1))
	var pairs []Pair
	for range exactUpTo {
		pairs = append(pairs, Pair{random.Float64(), random.Float64() * 1.5})
	}
	exact := P(pairs)
	// Pairs that differ by next to nothing leave the distribution as it is and make the test draw.
	near := append(pairs, Pair{1, 1 + 1e-9}, Pair{1, 1 - 1e-9})
	assert.InDelta(t, exact, P(near), 0.3*exact)
	again := P(near)
	assert.InDelta(t, P(near), again, 0, "the same pairs give the same value")
}

func TestPIsSymmetric(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		share := rapid.Float64Range(0, 1)
		pair := rapid.Custom(func(t *rapid.T) Pair { return Pair{share.Draw(t, "before"), share.Draw(t, "after")} })
		pairs := rapid.SliceOfN(pair, 0, 30).Draw(t, "pairs")
		swapped := make([]Pair, len(pairs))
		for i, p := range pairs {
			swapped[i] = Pair{p.After, p.Before}
		}
		p := P(pairs)
		assert.InDelta(t, p, P(swapped), 1e-12)
		assert.Equal(t, Direction(pairs), -Direction(swapped))
		if len(pairs) <= exactUpTo {
			assert.GreaterOrEqual(t, p, LeastP(Discordant(pairs)))
		}
	})
}

func TestHolm(t *testing.T) {
	adjusted, tested := Holm([]Tested{{0.01, 0}, {0.04, 0}, {0.03, 0}, {0.005, 0}}, 0.05)
	assert.InDeltaSlice(t, []float64{0.03, 0.06, 0.06, 0.02}, adjusted, 1e-12, "Holm's own example of order")
	assert.Equal(t, 4, tested)

	// What cannot be rejected costs nothing.
	rare := []Tested{{0.04, 0.001}, {1, 1}, {0.5, 0.5}, {0.25, 0.25}}
	adjusted, tested = Holm(rare, 0.05)
	assert.InDeltaSlice(t, []float64{0.04, 1, 1, 1}, adjusted, 1e-12)
	assert.Equal(t, 1, tested)

	adjusted, tested = Holm(nil, 0.05)
	assert.Empty(t, adjusted)
	assert.Equal(t, 1, tested)
}

func TestRatio(t *testing.T) {
	r := RatioOf(doubled(8))
	assert.InDelta(t, 2, r.Value, 1e-9)
	assert.InDelta(t, 2, r.Low, 1e-6, "all pairs have the same ratio")
	assert.InDelta(t, 2, r.High, 1e-6)

	r = RatioOf([]Pair{{1, 1}, {2, 1}, {1, 3}, {2, 2}, {1, 1}})
	assert.InDelta(t, 8.0/7, r.Value, 1e-9)
	assert.Less(t, r.Low, 1.0)
	assert.Greater(t, r.High, 1.3)

	for name, pairs := range map[string][]Pair{
		"nothing before":   {{0, 1}, {0, 2}, {0, 1}, {0, 1}},
		"one pair has all": {{3, 1}, {0, 2}, {0, 1}, {0, 1}},
		"too few":          {{1, 1}, {2, 2}, {3, 3}},
	} {
		r := RatioOf(pairs)
		assert.Zero(t, r.Low, name)
		assert.True(t, math.IsInf(r.High, 1), name)
	}
	assert.True(t, math.IsNaN(RatioOf([]Pair{{0, 0}, {0, 0}}).Value))
}

func TestJudge(t *testing.T) {
	const margin, level = 1.25, 0.05
	worse := doubled(6)
	better := make([]Pair, len(worse))
	for i, p := range worse {
		better[i] = Pair{p.After, p.Before}
	}
	same := []Pair{{1, 1.01}, {1, 0.99}, {1, 1}, {1, 1.02}, {1, 0.98}}
	little := []Pair{{100, 101}, {100, 101}, {100, 101}, {100, 101}, {100, 101}, {100, 101}}
	gone := []Pair{{1, 0}, {2, 0}, {1, 0}, {1, 0}, {2, 0}, {1, 0}}
	for name, c := range map[string]struct {
		pairs    []Pair
		adjusted float64
		want     Verdict
	}{
		"worse":                       {worse, 0.01, Worse},
		"better":                      {better, 0.01, Better},
		"worse by chance":             {worse, 0.06, Undecided},
		"the same":                    {same, 1, Same},
		"different within the margin": {little, 0.03, Same},
		"gone":                        {gone, 0.03, Better},
		"perhaps gone":                {gone, 0.06, Undecided},
		"not seen":                    {make([]Pair, 9), 1, NotSeen},
		"no pair":                     {nil, 1, NotSeen},
		// The test's measure and the ratio disagree: many small increases, one large decrease.
		"two directions": {[]Pair{{0, 1}, {0, 1}, {0, 1}, {0, 1}, {9, 0}}, 0.01, Undecided},
	} {
		assert.Equal(t, c.want, Judge(c.pairs, RatioOf(c.pairs), c.adjusted, margin, level), name)
	}
}

func TestNeeded(t *testing.T) {
	const margin, level = 1.25, 0.05
	pairs := []Pair{{1, 1.4}, {2, 1.6}, {1, 1.5}, {2, 2.9}, {1.2, 1.1}, {1, 1.2}}
	few := Needed(pairs, RatioOf(pairs), margin, level, 1)
	assert.Greater(t, few, 6.0)
	assert.Greater(t, Needed(pairs, RatioOf(pairs), margin, level, 20), few, "more tests need more pairs")

	vanished := []Pair{{1, 0}, {0, 0}, {0, 0}, {1, 0}}
	assert.InDelta(t, 12, Needed(vanished, RatioOf(vanished), margin, level, 1), 0,
		"six that all differ in one direction, of which two in four")
}
