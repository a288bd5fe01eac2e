package bisect_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/coordinator/bisect"
	"misstep/coordinator/reproduce/reproducetest"
)

func seed(t *testing.T) uint64 {
	t.Helper()
	s := uint64(8303444)
	if v := os.Getenv("MISSTEP_TEST_SEED"); v != "" {
		var err error
		s, err = strconv.ParseUint(v, 10, 64)
		require.NoError(t, err)
	}
	t.Logf("MISSTEP_TEST_SEED=%d", s)
	return s
}

func TestOrder(t *testing.T) {
	builds := []bisect.Build{
		{"a", 8, "1.8.0_402-b06", "Temurin"},
		{"b", 8, "OpenJDK 64-Bit Server VM (25.432-b06) for linux-amd64 JRE (1.8.0_432-b06)", "Temurin"},
		{"c", 17, "OpenJDK 64-Bit Server VM (17.0.9+9) for linux-amd64 JRE", "Eclipse Adoptium"},
		{"d", 17, "OpenJDK 64-Bit Server VM (17.0.15+6-Debian-1deb12u1) for linux-amd64", "Debian"},
		{"e", 17, "OpenJDK 64-Bit Server VM (17.0.15+6) for linux-amd64", "Eclipse Adoptium"},
		{"f", 25, "OpenJDK 64-Bit Server VM (25.0.3+9-LTS) for linux-amd64", "Eclipse Adoptium"},
	}
	shuffled := slices.Clone(builds)
	slices.Reverse(shuffled)
	slices.SortFunc(shuffled, bisect.Compare)
	assert.Equal(t, builds[2:], shuffled[2:])
}

// Finds the right range in at least 95 % of 200 noisy histories, rates from 0.05 to 1, with builds whose rate differs by up to a
// half.
func TestHistories(t *testing.T) {
	r := rand.New(rand.NewPCG(seed(t), 2))
	right, tries, cost := 0, 0, 0.0
	const runs = 200
	for run := range runs {
		h := reproducetest.RandomHistory(r)
		answer, took, ok := h.Bisect(r, 0.98)
		if ok {
			right++
		} else {
			t.Logf("history %d: rates %.3f: took %v with confidence %.3f", run, h.Rates, answer.Best, answer.Confidence)
		}
		tries += took
		cost += float64(took) * h.P
	}
	t.Logf("%d of %d right; %.0f tries each, %.1f/p", right, runs, float64(tries)/runs, cost/runs)
	assert.GreaterOrEqual(t, right, runs*95/100)
}

// A fix that was backported to one line and not to another is found, although the affected builds are not an interval.
func TestBackport(t *testing.T) {
	var builds []bisect.Build
	var rates []float64
	for _, f := range []int{8, 11, 17, 21, 25} {
		for u := range 4 {
			builds = append(builds,
				bisect.Build{Name: fmt.Sprintf("%d.%d", f, u), Feature: f, Version: fmt.Sprintf("%d.0.%d", f, u)})
			rate := 0.0
			if f == 11 || f == 17 && u < 2 || f == 21 { // 11 and 21 are never fixed, 17 is, 8 and 25 do not have it
				rate = 0.3
			}
			rates = append(rates, rate)
		}
	}
	h := reproducetest.History{Builds: builds, Rates: rates, Found: 8, P: 0.3}
	answer, _, _ := h.Bisect(rand.New(rand.NewPCG(seed(t), 3)), 0.98)
	for i := range builds {
		assert.Equal(t, rates[i] > 0, answer.Best[i], builds[i].Name)
	}
	assert.GreaterOrEqual(t, answer.Confidence, 0.98)
}

func TestSkipped(t *testing.T) {
	builds := []bisect.Build{
		{Name: "a", Feature: 17, Version: "17.0.1"},
		{Name: "b", Feature: 17, Version: "17.0.2"},
		{Name: "c", Feature: 17, Version: "17.0.3"},
	}
	prior := bisect.FromRate(10, 10)
	evidence := []bisect.Evidence{{Hits: 0, Tries: 20}, {Skipped: true}, {Hits: 10, Tries: 10}}
	answer := bisect.Weigh(builds, evidence, prior)
	i, _ := bisect.Choose(evidence, prior, answer)
	assert.NotEqual(t, 1, i, "a build that cannot be tried is never chosen")
	assert.Less(t, answer.Affected[0], 0.05)
	assert.Greater(t, answer.Affected[2], 0.99)
	assert.Zero(t, answer.Affected[1], "nothing is said of it")
	assert.GreaterOrEqual(t, answer.Confidence, 0.9, "what cannot be tried does not keep the rest from being sure")
}
