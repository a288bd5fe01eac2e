package jvm

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/runner"
	"misstep/runner/perturb"
	"misstep/schedule"
)

// Without sched_ext and without root the agent perturbs, and the same seed makes the same decisions.
func TestPerturbationByTheAgent(t *testing.T) {
	s := withAgent(t)
	s.Perturbers = []perturb.Perturber{perturb.Agent{}}
	for feature := range jdks() {
		decisions := func(seed uint64) map[[2]uint64]uint64 {
			recipe := recipeOf(feature, "work", "1500")
			recipe.Instrumentation = &misstepv1.Instrumentation{Ratio: 1}
			recipe.Checks = []*misstepv1.Check{{Name: "shadow-gst", Share: 0.01}}
			recipe.Perturbation = &misstepv1.Perturbation{
				Strategy: "delay", Seed: seed, Mechanism: misstepv1.MechanismAgent,
				Parameters: map[string]float64{"slice_us": 100, "max_us": 500, "expiry": 0.5},
			}
			outcome, err := s.run(t, t.Context(), recipe)
			require.NoError(t, err)
			require.Equal(t, clean, outcome.GetKind(), outcome.GetReason())
			report := outcome.GetPerturbation()
			assert.Equal(t, "agent", report.GetMechanism())
			assert.Positive(t, report.GetApplied()["delay"])
			assert.Zero(t, report.GetApplied()["preempt"], "that is not in its power")
			assert.Positive(t, report.GetDelays().GetLongest().AsDuration())
			log, err := schedule.ReadLog(strings.NewReader(s.evidence(t, outcome, "schedule.log")))
			require.NoError(t, err)
			assert.Equal(t, "delay", log.Header.Strategy)
			assert.Equal(t, seed, log.Header.Seed)
			assert.Equal(t, "agent", log.Header.Mechanism, "no log for the scheduler to replay")
			taken := map[[2]uint64]uint64{}
			for _, d := range log.Decisions {
				taken[[2]uint64{d.Path, uint64(d.Counter)}] = d.Delay
			}
			return taken
		}
		one, again, other := decisions(3), decisions(3), decisions(4)
		require.Greater(t, len(one), 100)
		same, differ := 0, 0
		for at, delay := range one {
			if twice, ok := again[at]; ok {
				require.Equal(t, delay, twice)
				same++
			}
			if third, ok := other[at]; ok && third != delay {
				differ++
			}
		}
		require.Greater(t, same, 100)
		require.Greater(t, differ, 50)
	}
}

func TestPerturbationByTheAgentNeedsTheAgent(t *testing.T) {
	s := withAgent(t)
	s.Perturbers = []perturb.Perturber{perturb.Agent{}}
	recipe := recipeOf(17, "verified")
	recipe.Perturbation = &misstepv1.Perturbation{Strategy: "chaos", Mechanism: misstepv1.MechanismAgent}
	_, err := s.run(t, t.Context(), recipe)
	require.ErrorContains(t, err, "ask for a check")
	require.True(t, runner.IsPermanent(err))
}
