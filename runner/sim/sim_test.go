package sim

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/runner"
)

func seeded(seed uint64) *misstepv1.Recipe {
	return &misstepv1.Recipe{Seed: seed, Checks: []*misstepv1.Check{{Name: "gst-asgct"}, {Name: "liveness"}}}
}

func script() Script {
	return Script{Seed: 42, Duration: time.Second, Events: []Event{
		{Rate: 0.1, Outcome: Mismatch("A")},
		{Rate: 0.05, Outcome: Crash("frame::sender")},
		{Rate: 0.05},
		{
			Rate:    0.2,
			Outcome: Of(misstepv1.OutcomeKind_OUTCOME_KIND_VOID, "nothing done"),
			Applies: func(r *misstepv1.Recipe) bool { return r.GetSeed()%2 == 1 },
		},
	}}
}

func TestRatesAreKeptAndSumsHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // time is the bubble's: ten thousand trials of a second take none
		e, err := New(script(), runner.SystemClock{})
		require.NoError(t, err)
		counts := map[misstepv1.OutcomeKind]int{}
		failed := 0
		const n = 10_000
		began := time.Now()
		for seed := range uint64(n) {
			outcome, err := e.Run(t.Context(), seeded(seed), nil)
			if errors.Is(err, ErrInfrastructure) {
				failed++
				continue
			}
			require.NoError(t, err)
			counts[outcome.GetKind()]++
			for _, c := range outcome.GetChecks() {
				require.Equal(t, c.GetTotal(), c.GetMatch()+c.GetMismatch())
			}
		}
		require.InDelta(t, 0.10*n, counts[misstepv1.OutcomeKind_OUTCOME_KIND_MISMATCHES], 120)
		require.InDelta(t, 0.05*n, counts[misstepv1.OutcomeKind_OUTCOME_KIND_CRASH], 90)
		require.InDelta(t, 0.05*n, failed, 90)
		require.InDelta(t, 0.10*n, counts[misstepv1.OutcomeKind_OUTCOME_KIND_VOID], 120, "half of the recipes, a fifth of those")
		require.InDelta(t, n, time.Since(began).Seconds(), 400, "a second each on average")
	})
}

func TestARecipeRepeatsItself(t *testing.T) {
	s := script()
	s.Duration = 0
	one, err := New(s, runner.SystemClock{})
	require.NoError(t, err)
	two, err := New(s, runner.SystemClock{})
	require.NoError(t, err)
	_, _ = two.Run(t.Context(), seeded(1<<40), nil) // order does not matter
	for seed := range uint64(100) {
		a, errA := one.Run(t.Context(), seeded(seed), nil)
		b, errB := two.Run(t.Context(), seeded(seed), nil)
		require.Equal(t, errA, errB)
		if a != nil {
			a.Started, b.Started = nil, nil
		}
		require.True(t, proto.Equal(a, b))
	}
	s.Fresh = true
	fresh, err := New(s, runner.SystemClock{})
	require.NoError(t, err)
	kinds := map[misstepv1.OutcomeKind]bool{}
	for range 200 {
		outcome, _ := fresh.Run(t.Context(), seeded(2), nil)
		kinds[outcome.GetKind()] = true
	}
	require.Greater(t, len(kinds), 2, "each run draws anew")
}

func TestCancelled(t *testing.T) {
	e, err := New(Script{Duration: time.Hour}, runner.SystemClock{})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = e.Run(ctx, seeded(1), nil)
	require.ErrorIs(t, err, context.Canceled)
}

func TestImpossibleScripts(t *testing.T) {
	_, err := New(Script{Events: []Event{{Rate: 0.6}, {Rate: 0.6}}}, runner.SystemClock{})
	require.ErrorContains(t, err, "more than 1")
	_, err = New(Script{Events: []Event{{Rate: -1}}}, runner.SystemClock{})
	require.ErrorContains(t, err, "not in [0, 1]")
}
