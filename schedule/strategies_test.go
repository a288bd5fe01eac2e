package schedule

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The table has a row for each number of intf.h.
func TestEveryNumberHasAStrategy(t *testing.T) {
	header, err := os.ReadFile("intf.h")
	require.NoError(t, err)
	numbers := regexp.MustCompile(`(?m)^  MISSTEP_STRATEGY_\w+ = ([1-9]\d*),`).FindAllStringSubmatch(string(header), -1)
	require.NotEmpty(t, numbers)
	for _, m := range numbers {
		assert.True(t, slices.ContainsFunc(Strategies(), func(s Strategy) bool { return fmt.Sprint(uint32(s.kind)) == m[1] }),
			"no strategy in strategies.go has the number %s of intf.h", m[1])
	}
}

func TestEveryStrategyIsExplained(t *testing.T) {
	for _, s := range Strategies() {
		require.NoError(t, Perturbation{Strategy: s.Name}.Validate(), s.Name)
		assert.NotEmpty(t, s.Doc, s.Name)
		seen := map[string]bool{}
		for _, p := range s.Parameters {
			assert.False(t, seen[p.Name], "%s %s twice", s.Name, p.Name)
			seen[p.Name] = true
			assert.NotEmpty(t, p.Doc)
			assert.True(t, p.Min <= p.Default && p.Default <= p.Max && p.Min < p.Max, "%s %s", s.Name, p.Name)
			for _, value := range []float64{p.Min, p.Max} {
				parameters := map[string]float64{p.Name: value}
				switch p.Name { // an empty range is an error of its own
				case "min_us":
					parameters["max_us"] = p.Max
				case "max_us":
					parameters["min_us"] = p.Min
				}
				assert.NoError(t, Perturbation{Strategy: s.Name, Parameters: parameters}.Validate(), "%s %v", s.Name, parameters)
			}
		}
	}
}

func TestErrorsNameTheWrongParameter(t *testing.T) {
	for want, p := range map[string]Perturbation{
		`unknown strategy "speed": expected one of none, delay`: {Strategy: "speed"},
		`unknown strategy ""`:                           {},
		`strategy none takes no parameters: remove "x"`: {Strategy: "none", Parameters: map[string]float64{"x": 1}},
		`delay has no parameter "x": expected one of probability, expiry`: {
			Strategy:   "delay",
			Parameters: map[string]float64{"x": 1},
		},
		`delay probability = 1.5 is not in [0, 1]`: {
			Strategy:   "delay",
			Parameters: map[string]float64{"probability": 1.5},
		},
		`delay max_us = 3000000 is not in [1, 2000000] µs`: {
			Strategy:   "delay",
			Parameters: map[string]float64{"max_us": 3e6},
		},
		`delay probability = NaN is not in`: {
			Strategy:   "delay",
			Parameters: map[string]float64{"probability": math.NaN()},
		},
		`pct span = 2.5 is not an integer`: {Strategy: "pct", Parameters: map[string]float64{"span": 2.5}},
		`pct from = 9 leaves no decision before until = 9`: {
			Strategy:   "pct",
			Parameters: map[string]float64{"from": 9, "until": 9},
		},
		`delay min_us = 20000 is above max_us = 10000`: {Strategy: "delay", Parameters: map[string]float64{"min_us": 20000}},
	} {
		err := p.Validate()
		require.ErrorIs(t, err, ErrInvalid, want)
		assert.ErrorContains(t, err, want)
	}
}
