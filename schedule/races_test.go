package schedule

import (
	"fmt"
	"math"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// modelled runs the models of the planted races and returns, for each race and seed, the number of iterations until the bug;
// math.MaxInt for a bug that did not show.
func modelled(t *testing.T, strategy string, seed, seeds, iterations int) map[string][]int {
	t.Helper()
	if _, err := exec.LookPath("c++"); err != nil {
		t.Skipf("no C++ compiler: %v", err)
	}
	program := filepath.Join(t.TempDir(), "races")
	out, err := exec.Command("c++", "-std=c++20", "-O1", "-Wall", "-Wextra", "-Werror", "-Wno-missing-field-initializers",
		"test/races.cpp", "-o", program).CombinedOutput()
	require.NoError(t, err, "%s", out)
	c, err := Perturbation{Strategy: "chaos"}.Config()
	require.NoError(t, err)
	out, err = exec.Command(program, strategy, strconv.Itoa(seed), strconv.Itoa(seeds), strconv.Itoa(iterations),
		fmt.Sprintf("epoch=%d", c.Epoch), fmt.Sprintf("cap=%d", c.DelayCap), fmt.Sprintf("away=%d", c.AwayCap)).Output()
	require.NoError(t, err)
	all := map[string][]int{}
	for line := range strings.Lines(string(out)) {
		var name string
		var shown, ran int
		var seconds float64
		_, err := fmt.Sscan(line, &name, &shown, &ran, &seconds)
		require.NoError(t, err)
		if shown == 0 {
			ran = math.MaxInt
		}
		all[name] = append(all[name], ran)
	}
	require.Len(t, all, 20)
	return all
}

// The models have no noise: a change of the policy that makes it blind to a kind of race fails here, before any virtual machine is
// booted.
func TestChaosReachesEveryModelledRace(t *testing.T) {
	logs, n := 0.0, 0
	for name, ran := range modelled(t, "chaos", 1001, 20, 5000) {
		slices.Sort(ran)
		median := ran[len(ran)/2]
		t.Logf("%s: median %d iterations, worst %d", name, median, ran[len(ran)-1])
		assert.Less(t, median, 3000, name)
		logs += math.Log(float64(median))
		n++
	}
	mean := math.Exp(logs / float64(n))
	t.Logf("geometric mean of the medians: %.0f iterations", mean)
	assert.Less(t, mean, 120.0)
}

// What a race needs whose threads sleep: without absences of threads that had slept, half of these take 90 to 800 iterations.
func TestAbsencesReachTheModelledPeriodicRaces(t *testing.T) {
	all := modelled(t, "chaos", 1001, 20, 1000)
	for _, name := range []string{
		"upgrade_slip", "two_permits", "lock_handover", "late_answer", "EvictingCache", "ReusedNode", "PoolOfTwo", "StopBeforeStart",
	} {
		ran := slices.Sorted(slices.Values(all[name]))
		require.Len(t, ran, 20, name)
		t.Logf("%s: median %d iterations, worst %d", name, ran[10], ran[19])
		assert.Less(t, ran[10], 200, name)
		assert.Less(t, ran[17], math.MaxInt, "%s: 18 of 20 runs", name)
	}
}

func TestNoModelledRaceShowsUnderNone(t *testing.T) {
	for name, ran := range modelled(t, "none", 1, 1, 3000) {
		assert.Equal(t, math.MaxInt, ran[0], name)
	}
}
