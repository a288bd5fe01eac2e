package runner_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/runner"
)

func TestRouteGoesByTheRecipesExecutor(t *testing.T) {
	named := func(name string) runner.Executor {
		return runner.ExecutorFunc(func(context.Context, *misstepv1.Recipe, func(*misstepv1.Progress)) (*misstepv1.Outcome, error) {
			return &misstepv1.Outcome{Reason: name}, nil
		})
	}
	routed := runner.Route(map[string]runner.Executor{runner.Host: named("host"), "vm": named("vm")})
	for executor, want := range map[string]string{"": "host", "host": "host", "vm": "vm"} {
		outcome, err := routed.Run(t.Context(), &misstepv1.Recipe{Executor: executor}, nil)
		require.NoError(t, err)
		require.Equal(t, want, outcome.GetReason())
	}
	_, err := routed.Run(t.Context(), &misstepv1.Recipe{Executor: "moon"}, nil)
	require.ErrorContains(t, err, `no executor "moon"; there are host, vm`)
	require.True(t, runner.IsPermanent(err))
}
