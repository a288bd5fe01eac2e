package recipe_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
)

func TestNeededCapability(t *testing.T) {
	for want, cases := range map[recipe.Capability][]struct {
		executor string
		p        *misstepv1.Perturbation
	}{
		"": {
			{"", nil}, {"host", &misstepv1.Perturbation{Strategy: "none"}}, {
				"",
				&misstepv1.Perturbation{Strategy: "chaos", Mechanism: "agent"},
			},
		},
		"sched_ext": {
			{"", &misstepv1.Perturbation{Strategy: "chaos"}},
			{"host", &misstepv1.Perturbation{Strategy: "delay", Mechanism: "sched_ext"}},
		},
		"vm":               {{"vm", nil}, {"vm", &misstepv1.Perturbation{Strategy: "chaos"}}},
		"vm-deterministic": {{"vm-deterministic", &misstepv1.Perturbation{Strategy: "chaos"}}},
	} {
		for _, c := range cases {
			assert.Equal(t, want, recipe.NeededCapability(c.executor, c.p))
		}
	}
}
