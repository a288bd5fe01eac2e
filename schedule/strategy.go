package schedule

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Parameter of a strategy.
type Parameter struct {
	// Name as in --param NAME=VALUE and in a recipe.
	Name string
	// Doc says in one line what it does.
	Doc string
	// Unit: "µs", or "" for shares, probabilities and counts.
	Unit string
	// Min, Max and Default values, in Unit.
	Min, Max, Default float64
	// Whole numbers only.
	Whole bool
}

// Range in words, with the unit: "[1, 2000000] µs".
func (p Parameter) Range() string {
	return strings.TrimSpace(fmt.Sprintf("[%s, %s] %s", Number(p.Min), Number(p.Max), p.Unit))
}

// Number writes a value of a parameter without an exponent.
func Number(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// Strategy of perturbation.
type Strategy struct {
	// Name as in --strategy NAME and in a recipe.
	Name string
	// Doc explains it in a few lines.
	Doc string
	// Parameters in the order of their explanation, its own. Bounds come on top of them.
	Parameters []Parameter

	kind  strategyKind
	apply func(v map[string]float64, seed uint64, c *Config)
}

// MarshalJSON leaves out what is not for people.
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
