package watch

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	misstepv1 "misstep/proto/misstep/v1"
)

func TestJudge(t *testing.T) {
	for _, c := range []struct {
		name     string
		cells    []Cell
		p        float64
		expected float64
		quiet    bool
	}{
		{"no trial since", []Cell{{37, 4100, 0}}, 1, 0, false},
		{"never hit", []Cell{{0, 4100, 100000}}, 1, 0, false},
		{"nothing", nil, 1, 0, false},
		{"as long again", []Cell{{37, 4100, 4100}}, math.Pow(2, -37), 37, true},
		{"a tenth", []Cell{{37, 4100, 410}}, 0.029, 3.7, false},
		{"one hit proves little", []Cell{{1, 100, 1000}}, 100.0 / 1100, 10, false},
		{"one hit, very long", []Cell{{1, 100, 100000}}, 0.001, 1000, true},
		{"always hit, three trials", []Cell{{10, 10, 3}}, 1.0 / 286, 3, false},
		{"always hit, ten trials", []Cell{{10, 10, 10}}, 5.4e-6, 10, true},
		{"trials in a cell that never hit", []Cell{{37, 4100, 0}, {0, 5000, 50000}}, 1, 0, false},
		{"trials in a new cell", []Cell{{37, 4100, 0}, {0, 0, 50000}}, 1, 0, false},
		{"few hits share the rate of all", []Cell{{1, 10, 100}, {0, 990, 5000}}, 1000.0 / 1100, 0.1, false},
		{"more hits than trials are impossible", []Cell{{3, 0, 0}}, 1, 0, false},
	} {
		e := Judge(c.cells, 1)
		assert.InEpsilon(t, c.p, e.P, 0.25, c.name)
		assert.InDelta(t, c.expected, e.Expected, 0.01, c.name)
		assert.Equal(t, c.quiet, e.Quiet(), "%s: %+v", c.name, e)
	}
	assert.InDelta(t, Judge([]Cell{{37, 4100, 1}}, 1).Level, 4*Judge([]Cell{{37, 4100, 1}}, 4).Level, 1e-12)
}

// A finding whose rate does not change is called quiet at any time of its life with a probability of at most Alpha.
func TestFalseAlarms(t *testing.T) {
	const lives, hits = 4000, 200
	random := rand.New(rand.NewPCG(32, 2026))
	for _, rate := range []float64{0.001, 0.02, 0.3, 0.9} {
		gap := func() uint64 { return 1 + uint64(math.Log(1-random.Float64())/math.Log1p(-rate)) }
		alarms := 0
		for range lives {
			c := Cell{}
			for range hits {
				next := gap()
				c.Since = next - 1 // the gap at its longest
				if Judge([]Cell{c}, 1).Quiet() {
					alarms++
					break
				}
				c.Hits++
				c.Trials += next
			}
		}
		assert.LessOrEqual(t, float64(alarms)/lives, Alpha, "rate %v", rate)
	}
}

// Trials that a campaign runs where it happened to find something are no reason for an alarm.
func TestFalseAlarmsWhenSteered(t *testing.T) {
	const lives, cells, first, rate = 1000, 300, 3, 0.01
	random := rand.New(rand.NewPCG(33, 2026))
	alarms := 0
	for range lives {
		all := make([]Cell, cells)
		var hit []int
		for i := range all {
			for range first {
				all[i].Trials++
				if random.Float64() < rate {
					all[i].Hits++
				}
			}
			if all[i].Hits > 0 {
				hit = append(hit, i)
			}
		}
		for range 3000 {
			if len(hit) == 0 {
				break
			}
			i := hit[random.IntN(len(hit))]
			if random.Float64() < rate {
				break // seen again
			}
			all[i].Since++
		}
		if Judge(all, 1).Quiet() {
			alarms++
		}
	}
	assert.LessOrEqual(t, float64(alarms)/lives, Alpha)
}

// A fixed bug is noticed: with 20 hits before, after about as many trials again.
func TestFixedIsNoticed(t *testing.T) {
	for _, c := range []Cell{{20, 20000, 20000}, {20, 40, 25}, {5, 1000, 5000}, {100, 10000, 2500}} {
		assert.True(t, Judge([]Cell{c}, 1).Quiet(), "%+v: %+v", c, Judge([]Cell{c}, 1))
	}
}

func TestChanges(t *testing.T) {
	quiet := &misstepv1.FindingState{Kind: misstepv1.StateQuiet, Jdk: "17", Trials: 100}
	more := &misstepv1.FindingState{Kind: misstepv1.StateQuiet, Jdk: "17", Trials: 200}
	back := &misstepv1.FindingState{Kind: misstepv1.StateBack, Jdk: "17", Bug: "P-1"}
	all := func(s ...*misstepv1.FindingState) []*misstepv1.FindingState { return s }
	assert.Empty(t, Changes(all(quiet), all(more)))
	assert.Equal(t, all(quiet), Changes(nil, all(quiet)))
	assert.Equal(t, all(back), Changes(all(quiet), all(more, back)))
	assert.Empty(t, Changes(all(quiet, back), nil))
}
