package schedule

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Parameter is a parameter of a strategy.
type Parameter struct {
	// Name is as in --param NAME=VALUE and in a recipe.
	Name string
	// Doc explains it in one line.
	Doc string
	// Unit is "µs", or "" for shares, probabilities and counts.
	Unit string
	// Min, Max and Default are in Unit.
	Min, Max, Default float64
	// Whole means that the value must be an integer.
	Whole bool
}

// Range returns the range with its unit: "[1, 2000000] µs".
func (p Parameter) Range() string {
	return strings.TrimSpace(fmt.Sprintf("[%s, %s] %s", Number(p.Min), Number(p.Max), p.Unit))
}

// Number formats a value of a parameter without an exponent.
func Number(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// Strategy is a strategy of perturbation.
type Strategy struct {
	// Name is as in --strategy NAME and in a recipe.
	Name string
	// Doc explains it in a few lines.
	Doc string
	// Parameters are the strategy's own, in the order in which they are explained; Bounds are additional.
	Parameters []Parameter

	kind  strategyKind
	apply func(v map[string]float64, seed uint64, c *Config)
}

// MarshalJSON encodes the exported fields, with all parameters.
func (s Strategy) MarshalJSON() ([]byte, error) {
	type parameter struct {
		Name    string  `json:"name"`
		Doc     string  `json:"doc"`
		Unit    string  `json:"unit,omitempty"`
		Min     float64 `json:"min"`
		Max     float64 `json:"max"`
		Default float64 `json:"default"`
		Whole   bool    `json:"whole,omitempty"`
	}
	all := []parameter{}
	for _, p := range s.All() {
		all = append(all, parameter(p))
	}
	return json.Marshal(map[string]any{"name": s.Name, "doc": s.Doc, "parameters": all})
}
