package observe_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"misstep/app/observe"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/runner"
)

// Coordinator and runner of one process, as in a hunt, have one registry: it is scraped without conflicts and has what both did.
func TestCoordinatorAndRunnerInOneProcess(t *testing.T) {
	metrics := observe.NewCoordinator()
	ofRunner := metrics.NewRunner()
	metrics.Granted(3)
	clean := runner.ExecutorFunc(func(context.Context, *misstepv1.Recipe, runner.ProgressFunc) (*misstepv1.Outcome, error) {
		return &misstepv1.Outcome{Kind: misstepv1.OutcomeKind_OUTCOME_KIND_CLEAN}, nil
	})
	executor := ofRunner.Executor(clean, 2)
	_, err := executor.Run(t.Context(), &misstepv1.Recipe{}, func(*misstepv1.Progress) {})
	require.NoError(t, err)
	require.NoError(t, runner.CheckReadiness(t.Context(), executor))

	at, stop, err := observe.Endpoints{Metrics: metrics.Registry, Ready: ofRunner.CheckReadiness}.Start("127.0.0.1:0")
	require.NoError(t, err)
	defer stop()
	code, text := get(t, at+"/metrics")
	require.Equal(t, http.StatusOK, code, text)
	for _, line := range []string{
		"misstep_leases_granted_total 3", `misstep_trial_seconds_count{outcome="clean"} 1`, "misstep_runner_slots 2", "go_goroutines ",
	} {
		require.Contains(t, text, line)
	}
	code, _ = get(t, at+"/readyz")
	require.Equal(t, http.StatusOK, code)
}
