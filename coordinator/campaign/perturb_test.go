package campaign_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	misstepv1 "misstep/proto/misstep/v1"
)

func TestPerturbationsBecomeConcrete(t *testing.T) {
	c := wide(misstepv1.Strategy_STRATEGY_ROUND_ROBIN, 5)
	c.Executor = "vm"
	c.Perturb = []*misstepv1.Perturbation{
		{Strategy: "none"},
		{
			Strategy: "delay", Seeds: []uint64{3, 4}, Parameters: map[string]float64{"probability": 0.5},
			Ranges: map[string]*misstepv1.ParameterRange{
				"max_us": {Min: 1, Max: 100000}, "low": {Min: 0, Max: 1}, "span": {Min: 2, Max: 4, Whole: true},
				"exact": {Min: 7, Max: 7},
			},
		},
		{Strategy: "chaos"},
	}
	e := expansion(t, c)
	seeds := map[uint64]int{}
	spans := map[float64]int{}
	var octaves, low []float64
	const rounds = 40
	for i := range e.Size() * rounds {
		r := e.Recipe(i)
		p := r.GetPerturbation()
		assert.Equal(t, "vm", r.GetExecutor())
		assert.Empty(t, p.GetSeeds())
		assert.Empty(t, p.GetRanges())
		switch p.GetStrategy() {
		case "chaos":
			assert.Equal(t, r.GetSeed(), p.GetSeed(), "the recipe's own")
		case "delay":
			seeds[p.GetSeed()]++
			v := p.GetParameters()
			assert.InDelta(t, 0.5, v["probability"], 0)
			assert.InDelta(t, 7, v["exact"], 0)
			assert.True(t, v["max_us"] >= 1 && v["max_us"] <= 100000, v["max_us"])
			octaves, low = append(octaves, math.Log(v["max_us"])/math.Log(100000)), append(low, v["low"])
			spans[v["span"]]++
		}
	}
	require.Len(t, seeds, 2)
	assert.Equal(t, seeds[3], seeds[4])
	assert.Len(t, spans, 3)
	for _, sample := range [][]float64{octaves, low} { // even in [0, 1]: mean 1/2, variance 1/12
		mean := 0.0
		for _, x := range sample {
			mean += x / float64(len(sample))
		}
		assert.InDelta(t, 0.5, mean, 5*math.Sqrt(1.0/12/float64(len(sample))))
	}
}
