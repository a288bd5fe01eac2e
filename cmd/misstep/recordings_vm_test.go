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
	"misstep/recipe"
	"misstep/runner/guest"
	"misstep/runner/perturb"
)

// TestRecordingsInMachines runs a JVM under each profiler in a virtual machine with sched_ext: the profiler starts there, its
// recording is read there, and a perturbation is in force.
func TestRecordingsInMachines(t *testing.T) {
	if testing.Short() {
		t.Skip("booting takes too long for -short")
	}
	needsRecordings(t)
	home := testenv.Home(t)
	if doctor := vm.Doctor(t.Context(), home); !slices.Contains(guest.Available(doctor), guest.Shared) {
		t.Skipf("no virtual machines here: %+v", doctor)
	}
	dir := filepath.Join(t.TempDir(), "hunt")
	status := runHunt(t, home, dir, `
name: machines
seed: 4
jdks: [jdk17]
workloads: [{name: clinit, repetitions: 1}]
profiler: [{name: jfr, interval: 1ms}, {name: async-profiler, interval: 1ms}]
checks: [{name: jfr-chunks}, {name: event-edges}, {name: liveness}]
flag_sets: [{name: c1, flags: ["-XX:TieredStopAtLevel=1", -XX:+UseSerialGC, -Xmx128m]}]
perturb: [{strategy: chaos, seeds: [7], parameters: {max_delay_us: 5000}}]
executor: vm
limits: {wall: 60s, memory_mib: 512}
budget: {trials: 2}
`, "--slots", "2")
	assert.Empty(t, status.GetUnplaced())
	st, err := station.Embed(dir, coordinator.Config{})
	require.NoError(t, err)
	defer st.Close()
	var under []string
	for _, trial := range trialsOf(t, st, status.GetId()) {
		require.Nil(t, trial.GetFailure(), trial.GetFailure().GetMessage())
		outcome, profiler := trial.GetOutcome(), trial.GetRecipe().GetProfiler().GetName()
		under = append(under, profiler)
		assert.Contains(t, []misstepv1.OutcomeKind{
			misstepv1.OutcomeKind_OUTCOME_KIND_CLEAN,
			misstepv1.OutcomeKind_OUTCOME_KIND_MISMATCHES,
		}, outcome.GetKind(), outcome.GetReason())
		for _, check := range outcome.GetChecks() {
			t.Logf("%s: %v", profiler, check)
			assert.Positive(t, check.GetMatch(), "%s under %s", check.GetCheck(), profiler)
		}
		t.Logf("%s: wall %v, judging %v", profiler, outcome.GetWall().AsDuration(), outcome.GetJudging().AsDuration())
		assert.NotEqual(t, perturb.Kernel(), outcome.GetPerturbation().GetKernel(), "it ran under the machine's kernel")
		assert.Positive(t, outcome.GetPerturbation().GetApplied()["delay"])
	}
	assert.ElementsMatch(t, []string{recipe.ProfilerJFR, recipe.ProfilerAsync}, under)
}
