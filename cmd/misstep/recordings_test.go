package main

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"misstep/app/station"
	"misstep/coordinator"
	"misstep/deploy/jdk"
	"misstep/internal/testenv"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
	"misstep/runner/profiler"
)

// recordable returns the profilers that each JDK can run, and the number of pairs.
func recordable(t *testing.T, entries map[string]jdk.Entry) (by map[string][]string, pairs int) {
	t.Helper()
	by = map[string][]string{}
	for name, entry := range entries {
		for _, known := range recipe.Profilers() {
			p, err := profiler.Of(&misstepv1.Recipe{Profiler: &misstepv1.Profiler{Name: known.Name}})
			require.NoError(t, err)
			if err := p.Supports(profiler.JDK{Home: entry.Path, Feature: entry.Feature}); err != nil {
				t.Logf("%s: %v", name, err)
				continue
			}
			by[name] = append(by[name], known.Name)
			pairs++
		}
	}
	return by, pairs
}

// TestRecordingsOfJDKs runs a small campaign under each profiler on every JDK of the matrix: each check of recordings does work,
// its counts add up, and nothing crashes, hangs or is void.
func TestRecordingsOfJDKs(t *testing.T) {
	if testing.Short() {
		t.Skip("takes minutes; run without -short")
	}
	needsRecordings(t)
	home := testenv.Home(t)
	entries, missing := catalogued(t, home)
	profilers, pairs := recordable(t, entries)
	dir := filepath.Join(t.TempDir(), "hunt")
	status := runHunt(t, home, dir, fmt.Sprintf(`
name: recordings
seed: 1
jdks: [%s]
workloads: [{name: mix, repetitions: 1, arguments: ["5000"]}]
profiler:
  - {name: jfr, interval: 1ms}
  - {name: async-profiler, interval: 1ms, options: [cstack=no]} # its own walkers know the JDKs of their time only
checks:
  - {name: jfr-shadow}
  - {name: profiler-shadow}
  - {name: samplers}
  - {name: jfr-chunks}
  - {name: event-edges}
  - {name: liveness}
budget: {trials: %d}
`, strings.Join(slices.Sorted(maps.Keys(entries)), ", "), pairs), "--slots", "2")
	require.Equal(t, misstepv1.CampaignState_CAMPAIGN_STATE_DONE, status.GetState())
	require.Zero(t, status.GetFailed())

	st, err := station.Embed(dir, coordinator.Config{})
	require.NoError(t, err)
	defer st.Close()
	requireEdgesExplained(t, st, status.GetId())
	trials := map[string][]*misstepv1.Trial{}
	for _, trial := range trialsOf(t, st, status.GetId()) {
		name := trial.GetRecipe().GetJdk().GetName()
		trials[name] = append(trials[name], trial)
	}
	eachOfMatrix(t, entries, missing, func(t *testing.T, entry jdk.Entry) {
		var ran []string
		for _, trial := range trials[entry.Name] {
			require.Nil(t, trial.GetFailure(), trial.GetFailure().GetMessage())
			ran = append(ran, trial.GetRecipe().GetProfiler().GetName())
			requireRecorded(t, trial)
		}
		require.ElementsMatch(t, profilers[entry.Name], ran, "a combination was tried twice, or not at all")
	})
}

// requireEdgesExplained asks that impossible edges of JFR's execution samples are known bugs: the tap has noted where each signal
// hit. All of 622 were (docs/figures/0013-recordings.md); one trial with another one is allowed.
func requireEdgesExplained(t *testing.T, st *station.Station, campaign string) {
	t.Helper()
	findings, err := st.ListFindings(t.Context(), &misstepv1.ListFindingsRequest{CampaignId: campaign})
	require.NoError(t, err)
	unexplained := uint64(0)
	for _, f := range findings.GetFindings() {
		parts := f.GetSignature().GetParts()
		if slices.Contains(parts, recipe.EventEdges) && strings.HasPrefix(parts[len(parts)-1], "by jdk.ExecutionSample: ") {
			t.Logf("%d trials with %s, %s: %s", f.GetHits(), f.GetId(), f.GetTitle(), f.GetKnownAs())
			if f.GetKnownAs() == "" {
				unexplained += f.GetHits()
			}
		}
	}
	require.LessOrEqual(t, unexplained, uint64(1))
}

// requireRecorded asks that a trial under a profiler made each check that judges its recordings, and that the verdicts add up.
func requireRecorded(t *testing.T, trial *misstepv1.Trial) {
	t.Helper()
	o, under := trial.GetOutcome(), trial.GetRecipe().GetProfiler()
	t.Logf("%s: %s %s, wall %v, judging %v", under.GetName(), o.GetKind(), o.GetReason(), o.GetWall().AsDuration(),
		o.GetJudging().AsDuration())
	require.Contains(t, []misstepv1.OutcomeKind{
		misstepv1.OutcomeKind_OUTCOME_KIND_CLEAN,
		misstepv1.OutcomeKind_OUTCOME_KIND_MISMATCHES,
	}, o.GetKind(), o.GetReason())
	judged := map[string]uint64{}
	for _, c := range o.GetChecks() {
		t.Logf("%s: %v", under.GetName(), c)
		judged[c.GetCheck()] = c.GetMatch() + c.GetMismatch() + total(c.GetTolerated())
		require.Equal(t, c.GetTotal(), judged[c.GetCheck()]+total(c.GetUnwalkable())+total(c.GetVoid()), c.GetCheck())
	}
	for _, known := range recipe.Checks() {
		if len(known.Profilers) > 0 && known.Judges(under) {
			require.NotZero(t, judged[known.Name], "%s did nothing under %s", known.Name, under.GetName())
		}
	}
}
