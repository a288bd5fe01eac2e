package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"misstep/coordinator/campaign"
	"misstep/recipe"
)

// A check of the table can be asked for in a campaign, and is listed.
func TestEveryPartKnowsTheChecks(t *testing.T) {
	for _, check := range recipe.Checks() {
		spec := fmt.Sprintf(
			`{name: a, jdks: [x], workloads: [{name: w}], instrumentation: [{ratio: 1}], sampling: [{interval: 1ms}],
  profiler: [{name: %s}], checks: [{name: %s}, {name: %s}], budget: {trials: 1}}`,
			append(check.Profilers, recipe.ProfilerNone)[0], check.Name,
			map[bool]string{true: recipe.Liveness, false: recipe.AsgctShadow}[check.Name == recipe.AsgctShadow],
		)
		_, err := campaign.Load([]byte(spec), "c.yaml")
		require.NoError(t, err, check.Name)
	}
	var b strings.Builder
	require.NoError(t, renderWords(&b, recipe.Words(), nil, false))
	for _, name := range recipe.Names(recipe.Checks()) {
		require.Contains(t, b.String(), "  "+name+" ")
	}
	require.Contains(t, b.String(), "by default 0.001 of method entries")
}
