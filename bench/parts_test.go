package bench_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/bench"
)

func TestPartsShareTheBudget(t *testing.T) {
	measured := map[string]time.Duration{}
	start := time.Now()
	part := func(name string, share float64) bench.Part {
		return bench.Part{Name: name, Share: share, Measure: func(_ context.Context, until time.Time) error {
			measured[name] = until.Sub(start).Round(time.Minute)
			return nil
		}}
	}
	all := []bench.Part{part("a", 0.5), part("b", 0.25), part("c", 0.25)}
	require.NoError(t, bench.Measure(t.Context(), all, "", 4*time.Hour))
	assert.Equal(t, map[string]time.Duration{"a": 2 * time.Hour, "b": 3 * time.Hour, "c": 4 * time.Hour}, measured)
	clear(measured)
	require.NoError(t, bench.Measure(t.Context(), all, "c,a", 3*time.Hour))
	assert.Equal(t, map[string]time.Duration{"a": 2 * time.Hour, "c": 3 * time.Hour}, measured)
	clear(measured)
	require.ErrorContains(t, bench.Measure(t.Context(), all, "a,d", time.Hour), `no part "d"; there are a, b, c`)
	assert.Empty(t, measured)
	failing := bench.Part{Name: "d", Share: 1, Measure: func(context.Context, time.Time) error { return assert.AnError }}
	require.ErrorIs(t, bench.Measure(t.Context(), []bench.Part{failing, all[0]}, "", time.Hour), assert.AnError)
	assert.Empty(t, measured)
}
