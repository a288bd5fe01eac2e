package bench

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestBudget(t *testing.T) {
	d, err := Budget("")
	require.NoError(t, err)
	require.Equal(t, DefaultBudget, d)
	d, err = Budget("90s")
	require.NoError(t, err)
	require.Equal(t, 90*time.Second, d)
	for _, bad := range []string{"15", "-1m", "0s", "soon"} {
		_, err = Budget(bad)
		require.ErrorContains(t, err, "BUDGET="+bad)
	}
}

func TestUnmeasuredGoalsAreNotMet(t *testing.T) {
	require.True(t, Goal{Goal: 5, Measured: 5, AtLeast: true}.Met())
	require.True(t, Goal{Goal: 5, Measured: 5}.Met())
	require.False(t, Goal{Goal: 5, Measured: 4.9, AtLeast: true}.Met())
	require.False(t, Goal{Goal: 5, Measured: 5.1}.Met())
	require.False(t, Goal{Goal: 5, Measured: math.NaN()}.Met())
	require.False(t, Goal{Goal: 5, Measured: math.NaN(), AtLeast: true}.Met())
}

func TestReport(t *testing.T) {
	r := Report{
		Name:    "demo",
		Date:    time.Date(2026, 11, 21, 16, 0, 0, 0, time.UTC),
		Budget:  time.Minute,
		Reached: "2 of 3 rounds",
		Goals: []Goal{
			{Name: "rate", Goal: 5000, Measured: 6123.4, Unit: "a second", AtLeast: true},
			{Name: "cost", Goal: 3, Measured: math.NaN(), Unit: "times"},
		},
		Tables: []Table{{Title: "rounds", Columns: []string{"round", "rate"}, Rows: [][]string{{"1", "6123"}}}},
		Rows:   []int{1},
	}
	dir := filepath.Join(t.TempDir(), "new")
	var out bytes.Buffer
	require.NoError(t, r.Finish(&out, dir))
	require.Contains(t, out.String(), "rate  ≥ 5000    6123         a second  yes\n")
	require.Contains(t, out.String(), "cost  ≤ 3       not reached  times     NO\n")
	data, err := os.ReadFile(filepath.Join(dir, "demo.json"))
	require.NoError(t, err)
	var read map[string]any
	require.NoError(t, json.Unmarshal(data, &read))
	require.Equal(t, "2 of 3 rounds", read["reached"])
	goals := read["goals"].([]any)
	require.Equal(t, map[string]any{
		"name": "rate", "goal": 5000.0, "measured": 6123.4, "unit": "a second", "at_least": true,
		"met": true,
	}, goals[0])
	require.Nil(t, goals[1].(map[string]any)["measured"])
	require.ErrorContains(t, Report{Name: "../x"}.Write(dir), "not a benchmark's name")
}

func TestStatistics(t *testing.T) {
	require.InDelta(t, 2.5, Median([]float64{4, 1, 3, 2}), 1e-12)
	require.True(t, math.IsNaN(Median(nil)))
	require.InDelta(t, 4, Quantile([]float64{1, 4}, 1), 1e-12)
	require.InDelta(t, 2, Slope([]float64{0, 1, 2}, []float64{1, 3, 5}), 1e-12)
}

// The ranks are those of tables of the sign test: the second of ten, the sixth of twenty.
func TestMedianInterval(t *testing.T) {
	upTo := func(n int) (values []float64) {
		for i := n; i > 0; i-- {
			values = append(values, float64(i))
		}
		return values
	}
	for n, want := range map[int][2]float64{6: {1, 6}, 8: {1, 8}, 9: {2, 8}, 10: {2, 9}, 20: {6, 15}} {
		low, high := MedianInterval(upTo(n))
		require.Equal(t, want, [2]float64{low, high}, "%d values", n)
	}
	low, high := MedianInterval(upTo(5))
	require.True(t, math.IsNaN(low) && math.IsNaN(high))
}
