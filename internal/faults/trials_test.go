package faults_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"misstep/internal/faults"
	"misstep/internal/testenv"
)

// The decision whether a JVM injects is made before the JVM's own code runs, so any program will do: one that injects creates the
// log.
func TestFaultAtARateForEachTrial(t *testing.T) {
	library := filepath.Join(testenv.Root(), "build", "agent-injector", faults.LibraryName)
	if _, err := os.Stat(library); err != nil {
		t.Skipf("the injector is not built: %v", err)
	}
	log := filepath.Join(t.TempDir(), "faults.bin")
	injects := func(plan faults.Plan, args ...string) bool {
		cmd := exec.CommandContext(t.Context(), "/bin/true", args...)
		cmd.Env = plan.Environment(library, log)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return os.Remove(log) == nil
	}
	plan := faults.Plan{Classes: []string{faults.Truncate}, Rate: 1, Trials: 0.2, Needs: []string{"-Xss768k", "-Xint"}}
	agent := func(seed int) string {
		return fmt.Sprintf("-agentpath:/a/libmisstep.so=out=/o,seed=%d,methods=1", 7919*seed)
	}
	chosen, other := map[int]bool{}, 0
	for seed := range 200 {
		if injects(plan, "-Xss768k", agent(seed+1), "-Xint") {
			chosen[seed+1] = true
		}
	}
	require.InDelta(t, 40, len(chosen), 20)
	for seed := range chosen {
		require.True(t, injects(plan, "-Xint", "-Xss768k", agent(seed)), "the seed decides")
		require.False(t, injects(plan, "-Xss768", agent(seed), "-Xint"), "without what it needs")
		require.False(t, injects(plan, "-Xss768k", "-Xint"), "without an agent")
		if other++; other == 5 {
			break
		}
	}
	plan.Trials = 0
	require.True(t, injects(plan, "-Xss768k", "-Xint"), "every JVM")
}
