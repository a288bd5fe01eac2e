package jvm

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/durationpb"

	"misstep/agent"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/runner"
	"misstep/workloads"
)

// withAgent is a stand with the agent that `make agent` built, or none.
func withAgent(t *testing.T) *stand {
	t.Helper()
	s := newStand(t)
	found, err := agent.Find(filepath.Join("..", "..", "build", "agent"))
	if err != nil {
		t.Skipf("the agent is not built: %v", err)
	}
	s.Agent = found
	return s
}

// use takes a workload that `make workloads` built.
func (s *stand) use(t *testing.T, name string) {
	t.Helper()
	dir := filepath.Join("..", "..", "build", "workloads", name)
	if _, err := os.Stat(filepath.Join(dir, workloads.ManifestFile)); err != nil {
		t.Skipf("the workload is not built, run `make workloads`: %v", err)
	}
	s.Workload = func(context.Context, *misstepv1.Workload) (string, workloads.Manifest, error) {
		m, err := workloads.Load(dir)
		return dir, m, err
	}
}

func checked(feature int, name string) *misstepv1.Recipe {
	return &misstepv1.Recipe{
		Jdk: &misstepv1.Jdk{Name: recipeOf(feature).GetJdk().GetName()}, Workload: &misstepv1.Workload{Name: name}, Seed: 1,
		Instrumentation: &misstepv1.Instrumentation{Ratio: 0.3},
		Sampling:        &misstepv1.Sampling{Interval: durationpb.New(time.Millisecond), Jitter: 0.5},
		Checks:          []*misstepv1.Check{{Name: "gst-asgct"}, {Name: "shadow-gst"}, {Name: "asgct-shadow"}, {Name: "liveness"}},
		Limits:          &misstepv1.Limits{Wall: durationpb.New(2 * time.Minute)},
	}
}

func requireProof(t *testing.T, outcome *misstepv1.Outcome) {
	t.Helper()
	require.Len(t, outcome.GetChecks(), 4)
	for _, c := range outcome.GetChecks() {
		require.Positive(t, compared(c), "%v", c)
		require.Equal(t, c.GetTotal(), compared(c)+sum(c.GetUnwalkable())+sum(c.GetVoid()), "the verdicts of %s add up", c.GetCheck())
	}
	require.Positive(t, outcome.GetSignals().GetAnswered())
	require.LessOrEqual(t, outcome.GetSignals().GetAnswered(), outcome.GetSignals().GetDelivered())
}

func TestChecksDoWork(t *testing.T) {
	s := withAgent(t)
	s.use(t, "mix")
	for feature := range jdks() {
		if feature < 17 {
			continue // the workload needs 17
		}
		t.Run(recipeOf(feature).GetJdk().GetName(), func(t *testing.T) {
			outcome, err := s.run(t, t.Context(), checked(feature, "mix"))
			require.NoError(t, err)
			t.Logf("%v", outcome)
			require.Contains(t, []misstepv1.OutcomeKind{clean, misstepv1.OutcomeKind_OUTCOME_KIND_MISMATCHES}, outcome.GetKind(), outcome.GetReason())
			requireProof(t, outcome)
			require.NotEmpty(t, s.evidence(t, outcome, "status.json"))
		})
	}
}

// TestKnownBugIsFound: JDK-8303444 is deterministic under -Xcomp on every JDK so far.
func TestKnownBugIsFound(t *testing.T) {
	s := withAgent(t)
	s.use(t, "clinit")
	for feature := range jdks() {
		if feature < 17 {
			continue
		}
		t.Run(recipeOf(feature).GetJdk().GetName(), func(t *testing.T) {
			recipe := checked(feature, "clinit")
			recipe.Instrumentation.Ratio = 1
			recipe.JvmFlags = []string{"-XX:TieredStopAtLevel=1", "-Xcomp"}
			recipe.Checks = []*misstepv1.Check{{Name: "gst-asgct", Share: 1}}
			outcome, err := s.run(t, t.Context(), recipe)
			require.NoError(t, err)
			require.Equal(t, misstepv1.OutcomeKind_OUTCOME_KIND_MISMATCHES, outcome.GetKind(), outcome.GetReason())
			var kinds []string
			for _, m := range outcome.GetMismatches() {
				kinds = append(kinds, m.GetKind())
				require.Positive(t, m.GetCount())
			}
			require.Contains(t, kinds, "truncated")
			require.NotEmpty(t, s.evidence(t, outcome, "mismatches.jsonl"))
		})
	}
}

func TestAgentThatRefusesIsOurFailure(t *testing.T) {
	s := withAgent(t)
	for feature := range jdks() {
		recipe := checked(feature, "fixture")
		recipe.Workload.Arguments = []string{"verified"}
		recipe.Sampling.Signal = "SIGNONSENSE"
		_, err := s.run(t, t.Context(), recipe)
		require.ErrorContains(t, err, "SIGNONSENSE")
		require.True(t, runner.IsPermanent(err))
	}
}
