package bisect

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
	builds := []Build{
		{"a", 8, "1.8.0_402-b06", "Temurin"},
		{"b", 8, "OpenJDK 64-Bit Server VM (25.432-b06) for linux-amd64 JRE (1.8.0_432-b06)", "Temurin"},
		{"c", 17, "OpenJDK 64-Bit Server VM (17.0.9+9) for linux-amd64 JRE", "Eclipse Adoptium"},
		{"d", 17, "OpenJDK 64-Bit Server VM (17.0.15+6-Debian-1deb12u1) for linux-amd64", "Debian"},
		{"e", 17, "OpenJDK 64-Bit Server VM (17.0.15+6) for linux-amd64", "Eclipse Adoptium"},
		{"f", 25, "OpenJDK 64-Bit Server VM (25.0.3+9-LTS) for linux-amd64", "Eclipse Adoptium"},
	}
	shuffled := slices.Clone(builds)
	slices.Reverse(shuffled)
	slices.SortFunc(shuffled, Compare)
	assert.Equal(t, builds[2:], shuffled[2:])
	assert.Equal(t, []int{17, 0, 15, 6}, numbers(builds[3].Version))
	assert.Equal(t, []int{8, 0, 402, 6}, numbers(builds[0].Version))
	assert.Empty(t, numbers("none"))
}

// history runs a bisection against builds whose truth is known and returns the answer and the tries it took.
func history(r *rand.Rand, builds []Build, rates []float64, found int, p float64) (Answer, int) {
	evidence := make([]Evidence, len(builds))
	try := func(i, n int) {
		for range n {
			evidence[i].Tries++
			if r.Float64() < rates[i] {
				evidence[i].Hits++
			}
		}
	}
	for evidence[found].Hits < 12 { // as confirming does
		try(found, 1)
	}
	prior := FromRate(evidence[found].Hits, evidence[found].Tries)
	tries := 0
	for {
		answer := Weigh(builds, evidence, prior)
		i, n := Choose(evidence, prior, answer)
		if answer.Confidence >= 0.98 || i < 0 || float64(tries) > 4000/p {
			return answer, tries
		}
		try(i, n)
		tries += n
	}
}

// The right range in at least 95 % of 200 noisy histories, rates from 0.05 to 1, with builds whose rate differs by up to a half.
func TestHistories(t *testing.T) {
	r := rand.New(rand.NewPCG(seed(t), 2))
	right, tries, cost := 0, 0, 0.0
	const runs = 200
	for run := range runs {
		p := math.Pow(0.05, r.Float64()) // from 0.05 to 1, each octave as likely
		n := 4 + r.IntN(21)
		features := 1 + r.IntN(4)
		builds := make([]Build, n)
		for i := range builds {
			f := 8 + 4*(i*features/n)
			builds[i] = Build{Name: fmt.Sprint(i), Feature: f, Version: fmt.Sprintf("%d.0.%d+1", f, i)}
		}
		// The bug comes at a build and goes at a later one or never.
		from := r.IntN(n)
		to := from + 1 + r.IntN(n-from)
		if r.IntN(2) == 0 {
			to = n
		}
		rates := make([]float64, n)
		for i := from; i < to; i++ {
			rates[i] = min(1, p*(0.5+r.Float64()))
		}
		found := from + r.IntN(to-from)
		rates[found] = p
		answer, took := history(r, builds, rates, found, p)
		ok := true
		for i := range rates {
			ok = ok && answer.Best[i] == (rates[i] > 0)
		}
		if ok {
			right++
		} else {
			t.Logf("history %d: %d builds, [%d, %d) at %.3f: took %v with confidence %.3f", run, n, from, to, p, answer.Best, answer.Confidence)
		}
		tries += took
		cost += float64(took) * p
	}
	t.Logf("%d of %d right; %.0f tries each, %.1f/p", right, runs, float64(tries)/runs, cost/runs)
	assert.GreaterOrEqual(t, right, runs*95/100)
}

// A fix that was ported back to one line and not to another is no interval of all builds, and still found.
func TestBackport(t *testing.T) {
	var builds []Build
	var rates []float64
	for _, f := range []int{8, 11, 17, 21, 25} {
		for u := range 4 {
			builds = append(builds, Build{Name: fmt.Sprintf("%d.%d", f, u), Feature: f, Version: fmt.Sprintf("%d.0.%d", f, u)})
			rate := 0.0
			if f == 11 || f == 17 && u < 2 || f == 21 { // 11 and 21 are never fixed, 17 is, 8 and 25 do not have it
				rate = 0.3
			}
			rates = append(rates, rate)
		}
	}
	answer, _ := history(rand.New(rand.NewPCG(seed(t), 3)), builds, rates, 8, 0.3)
	for i := range builds {
		assert.Equal(t, rates[i] > 0, answer.Best[i], builds[i].Name)
	}
	assert.GreaterOrEqual(t, answer.Confidence, 0.98)
}

func TestSkipped(t *testing.T) {
	builds := []Build{{Name: "a", Feature: 17, Version: "17.0.1"}, {Name: "b", Feature: 17, Version: "17.0.2"}, {Name: "c", Feature: 17, Version: "17.0.3"}}
	prior := FromRate(10, 10)
	evidence := []Evidence{{Hits: 0, Tries: 20}, {Skipped: true}, {Hits: 10, Tries: 10}}
	answer := Weigh(builds, evidence, prior)
	i, _ := Choose(evidence, prior, answer)
	assert.NotEqual(t, 1, i, "a build that cannot be tried is never chosen")
	assert.Less(t, answer.Affected[0], 0.05)
	assert.Greater(t, answer.Affected[2], 0.99)
	assert.InDelta(t, 0.5, answer.Affected[1], 0.4)
}

func TestPatternsAddUp(t *testing.T) {
	for n := 1; n < 12; n++ {
		for _, affected := range []bool{false, true} {
			sum := 0.0
			for _, p := range patterns(n, affected) {
				sum += p.weight
				assert.False(t, math.IsNaN(p.weight))
				assert.Equal(t, affected, p.from == 0 && p.to > 0)
			}
			assert.InDelta(t, 1, sum, 1e-9)
		}
	}
}
