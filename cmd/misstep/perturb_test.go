package main

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/app/station"
	"misstep/coordinator"
	"misstep/deploy/vm"
	"misstep/internal/testenv"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/runner/guest"
	"misstep/runner/perturb"
)

// TestCampaignInMachines runs trials of real JVMs in virtual machines with sched_ext: each says which perturbation was in force,
// with proof.
func TestCampaignInMachines(t *testing.T) {
	if testing.Short() {
		t.Skip("booting takes too long for -short")
	}
	home := testenv.Home(t)
	if doctor := vm.Doctor(t.Context(), home); !slices.Contains(guest.Available(doctor), guest.Shared) {
		t.Skipf("no virtual machines here: %+v", doctor)
	}
	dir := filepath.Join(t.TempDir(), "hunt")
	status := runHunt(t, home, dir, `
name: machines
seed: 3
jdks: [jdk17]
workloads: [{name: clinit, repetitions: 1}]
checks: [{name: gst-asgct, share: 0.01}, {name: liveness}]
flag_sets: [{name: c1, flags: ["-XX:TieredStopAtLevel=1", -XX:+UseSerialGC, -Xmx128m]}]
perturb:
  - {strategy: none}
  - {strategy: chaos, seeds: [7], parameters: {max_delay_us: {min: 1000, max: 5000}}}
executor: vm
limits: {wall: 60s, memory_mib: 512}
budget: {trials: 2}
`, "--slots", "2")
	assert.Empty(t, status.GetUnplaced())
	st, err := station.Embed(dir, coordinator.Config{})
	require.NoError(t, err)
	defer st.Close()
	trials := trialsOf(t, st, status.GetId())
	require.Len(t, trials, 2)
	seen := map[string]bool{}
	for _, trial := range trials {
		require.Nil(t, trial.GetFailure(), trial.GetFailure().GetMessage())
		outcome, report := trial.GetOutcome(), trial.GetOutcome().GetPerturbation()
		seen[report.GetStrategy()] = true
		assert.Equal(t, misstepv1.OutcomeKind_OUTCOME_KIND_CLEAN, outcome.GetKind(), outcome.GetReason())
		for _, check := range outcome.GetChecks() {
			assert.Positive(t, check.GetMatch(), check.GetCheck())
		}
		assert.NotEqual(t, perturb.Kernel(), report.GetKernel(), "it ran under the machine's kernel")
		logged := slices.ContainsFunc(
			outcome.GetEvidence(),
			func(e *misstepv1.Evidence) bool { return e.GetName() == "schedule.log" },
		)
		if report.GetStrategy() == "none" {
			assert.Empty(t, report.GetMechanism())
			assert.False(t, logged)
			continue
		}
		assert.Equal(t, "chaos", report.GetStrategy())
		assert.Equal(t, "sched_ext", report.GetMechanism())
		assert.Equal(t, uint64(7), report.GetSeed())
		delay := report.GetParameters()["max_delay_us"]
		assert.True(t, delay >= 1000 && delay <= 5000, delay)
		assert.Positive(t, report.GetApplied()["delay"])
		assert.Positive(t, report.GetDelays().GetCount())
		for _, role := range []string{"mutator", "vm", "compiler"} {
			assert.Positive(t, report.GetRoles()[role].GetDecisions(), role)
		}
		assert.LessOrEqual(t, report.GetOutside(), uint64(20), "turns of the loader's one thread")
		assert.True(t, logged)
	}
	assert.Len(t, seen, 2)
}
