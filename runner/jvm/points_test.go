package jvm

import (
	"strings"
	"testing"
	"time"

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

// Threads that wait are kept away for longer than they usually wait, in a real JVM, and none are where absences are turned off.
func TestAbsencesByTheAgent(t *testing.T) {
	s := withAgent(t)
	s.Perturbers = []perturb.Perturber{perturb.Agent{}}
	const longestDelay, longestAbsence = 100 * time.Microsecond, 50 * time.Millisecond
	decisions := func(parameters map[string]float64) map[uint64][]schedule.Record {
		recipe := recipeOf(oldest(), "naps", "1000")
		recipe.Instrumentation = &misstepv1.Instrumentation{Ratio: 1}
		recipe.Checks = []*misstepv1.Check{{Name: "shadow-gst", Share: 0.01}}
		parameters["max_delay_us"] = float64(longestDelay.Microseconds())
		recipe.Perturbation = &misstepv1.Perturbation{
			Strategy: "chaos", Seed: 5, Mechanism: misstepv1.MechanismAgent, Parameters: parameters,
		}
		outcome, err := s.run(t, t.Context(), recipe)
		require.NoError(t, err)
		require.Equal(t, clean, outcome.GetKind(), outcome.GetReason())
		log, err := schedule.ReadLog(strings.NewReader(s.evidence(t, outcome, "schedule.log")))
		require.NoError(t, err)
		of := map[uint64][]schedule.Record{}
		for _, d := range log.Decisions {
			of[d.Path] = append(of[d.Path], d)
		}
		return of
	}
	absences, longer := 0, 0
	for _, own := range decisions(map[string]float64{"max_away_us": float64(longestAbsence.Microseconds())}) {
		for i, d := range own {
			if d.Marks&schedule.MarkAway == 0 {
				continue
			}
			absences++
			delay := time.Duration(d.Delay)
			assert.NotEqual(t, schedule.EventExpiry, d.Event)
			if d.Marks&schedule.MarkStarved == 0 && delay > longestDelay {
				assert.LessOrEqual(t, delay, longestAbsence)
				longer++
			}
			if i+1 < len(own) {
				assert.GreaterOrEqual(t, own[i+1].Elapsed-d.Elapsed, delay, "the thread did nothing meanwhile")
			}
		}
	}
	require.Greater(t, absences, 10)
	require.Greater(t, longer, 10, "than a delay of chaos, by themselves")
	for _, own := range decisions(map[string]float64{"max_away_us": 0}) {
		for _, d := range own {
			require.Zero(t, d.Marks&schedule.MarkAway)
		}
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
