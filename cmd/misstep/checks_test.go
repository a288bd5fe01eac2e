package main

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"misstep/agent"
	"misstep/coordinator/campaign"
	"misstep/runner/jvm"
)

// A check has its name in the agent, in campaigns and in the runner, which do not know of each other.
func TestEveryPartKnowsTheChecks(t *testing.T) {
	require.Len(t, jvm.DefaultShares, len(agent.Checks))
	for _, name := range agent.Checks {
		require.Contains(t, jvm.DefaultShares, name)
		spec := fmt.Sprintf(`{name: a, jdks: [x], workloads: [{name: w}], instrumentation: [{ratio: 1}], sampling: [{interval: 1ms}],
  checks: [{name: %s}, {name: %s}], budget: {trials: 1}}`, name, map[bool]string{true: "liveness", false: "asgct-shadow"}[name == "asgct-shadow"])
		_, err := campaign.Load([]byte(spec), "c.yaml")
		require.NoError(t, err, name)
	}
}
