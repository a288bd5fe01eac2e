package reproduce_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/coordinator/reproduce"
	"misstep/coordinator/reproduce/reproducetest"
)

// A race needs only a few decisions about a few threads of a perturbation, and its reproducer is confined to them.
func TestPerturbationIsNarrowedToTheDecisionsThatMatter(t *testing.T) {
	for _, m := range reproducetest.Models() {
		if m.Name != "race: a few decisions matter" {
			continue
		}
		const runs = 10
		narrowed := 0
		for seed := range uint64(runs) {
			d := &reproducetest.Driver{Model: m, Rand: rand.New(rand.NewPCG(seed, 3))}
			plan := d.Run(reproducetest.Start(m, seed))
			require.NotNil(t, plan.Reproducer, plan.Failure)
			final := plan.Reproducer.GetRecipe()
			if !plan.Reproducer.GetSeedMatters() {
				final.Seed = 0
			}
			p := final.GetPerturbation().GetParameters()
			assert.InDelta(t, m.Rate(m.Recipe), m.Rate(final), 1e-9, "what matters is left: %v", p)
			if p["until"] == 64 && p["from"] >= 24 && p["spare_sampler"]+p["spare_gc"]+p["spare_compiler"]+p["spare_vm"] == 4 {
				narrowed++ // 40 is needed, and 64 the power of four above it; 30 is the latest beginning
			}
			for _, removal := range reproduce.Removals(final, reproducetest.Signature()) {
				assert.Less(t, m.Rate(removal.Recipe), 0.9*d.Best, "a bound is no element: %v", removal.Element)
			}
		}
		assert.GreaterOrEqual(t, narrowed, runs-2, "each test may say no by chance")
		return
	}
	t.Fatal("there is no such model")
}
