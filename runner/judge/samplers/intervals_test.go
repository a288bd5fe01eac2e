package samplers

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/runner/recording"
)

func TestIntervals(t *testing.T) {
	tr := newTrial(t, Options{})
	for _, at := range []int64{100, 110, 122, 130, 200} { // 10, 12, 8, 70
		tr.event(cpuTime, at, "run")
	}
	tr.event(cpuTime, 210, "")
	tr.event(execution, 100, "run")
	tr.round(100, 101, "run")
	require.NoError(t, tr.Visit(&recording.Lost{Thread: worker, Samples: 3}))
	require.NoError(t, tr.Visit(&recording.Event{
		Type: cpuTime, StartNanos: 220 * millisecond, Thread: worker, Failed: recording.True,
	}))
	tr.cpu[7] = 70 * time.Millisecond
	got := tr.Intervals(map[Sampler]time.Duration{JFRCPUTime: 10 * time.Millisecond, JFRExecution: 20 * time.Millisecond})
	require.Len(t, got, 2, "none was requested of Thread.getAllStackTraces()")
	assert.Equal(t, Interval{
		Sampler: JFRCPUTime, Thread: "worker", Java: 7, Samples: 7, Median: 10 * time.Millisecond, P90: 70 * time.Millisecond,
		Difference: 0, PerCPU: 10 * time.Millisecond, Lost: 3, Failed: 1, Absent: 2,
	}, got[0], "of the gaps 10, 12, 8, 70, 10, 10 ms")
	assert.Equal(t, 1, got[1].Samples)
	assert.Zero(t, got[1].Median)
	assert.True(t, math.IsNaN(got[1].Difference))
}

func TestQuantile(t *testing.T) {
	assert.Equal(t, 2, quantile([]int{1, 2, 3}, 0.5))
	assert.Equal(t, 2, quantile([]int{1, 2, 3, 4}, 0.5))
	assert.Equal(t, 9, quantile([]int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 0.9))
	assert.Equal(t, 5, quantile([]int{5}, 0.9))
}
