package schedule

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestHistogramsInWords(t *testing.T) {
	h := make(Histogram, Buckets)
	assert.Equal(t, "none", h.String())
	h[10], h[20] = 99, 1
	assert.Equal(t, 2048*time.Nanosecond, h.Quantile(0.5))
	assert.Equal(t, 2048*time.Nanosecond, h.Quantile(0.99))
	assert.Equal(t, time.Duration(1<<21), h.Quantile(1))
}

func TestReportNamesWhatWasApplied(t *testing.T) {
	r := Report{
		Perturbation: Perturbation{Strategy: "chaos", Seed: 4}, Delays: 5, Starved: 2, Preemptions: 7, Overtaken: 1,
		PriorityChanges: 3,
	}
	assert.Equal(t, map[string]uint64{"delay": 3, "starve": 2, "preempt": 8, "priority": 3}, r.Applied())
	assert.Empty(t, (&Report{}).Applied())
	r.Threads = []ThreadReport{{Name: "0.1", Comm: "evil\x1b[2J\xff", Role: "mutator", Decisions: 4}}
	var b bytes.Buffer
	r.Write(&b, 10)
	assert.Contains(t, b.String(), "evil?[2J?")
	assert.NotContains(t, b.String(), "\x1b")
}
