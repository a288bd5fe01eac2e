package station

import (
	"strings"
	"testing"

	"github.com/alecthomas/assert/v2"

	misstepv1 "misstep/proto/misstep/v1"
)

// What confines a perturbation, which reproducing and bundles speak of, every strategy that perturbs has.
func TestEveryStrategyCanBeConfined(t *testing.T) {
	for _, s := range Strategies() {
		if s.Name == misstepv1.StrategyNone {
			continue
		}
		var spared []string
		has := map[string]bool{}
		for _, p := range s.Parameters {
			has[p.Name] = true
			if misstepv1.Confines(p.Name) {
				assert.Zero(t, p.Default, "%s %s", s.Name, p.Name)
			}
			if role, ok := strings.CutPrefix(p.Name, misstepv1.PerturbSpare); ok {
				spared = append(spared, role)
			}
		}
		assert.True(t, has[misstepv1.PerturbFrom] && has[misstepv1.PerturbUntil], s.Name)
		assert.Equal(t, []string{"sampler", "vm", "gc", "compiler", "mutator"}, spared, s.Name)
	}
}
