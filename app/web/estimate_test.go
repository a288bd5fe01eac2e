package web

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"google.golang.org/protobuf/types/known/durationpb"

	misstepv1 "misstep/proto/misstep/v1"
)

// A campaign is compared with the newest one that ran a workload of it, else with the newest that ran enough.
func TestEstimate(t *testing.T) {
	ran := func(id, workload string, trials uint64, rate float64) *misstepv1.CampaignStatus {
		return &misstepv1.CampaignStatus{
			Id: id, Outcomes: map[string]uint64{"clean": trials}, TrialsPerSecond: rate,
			Campaign: &misstepv1.Campaign{Workloads: []*misstepv1.CampaignWorkload{{Name: workload}}},
		}
	}
	newestFirst := []*misstepv1.CampaignStatus{ran("few", "w", 9, 50), ran("other", "x", 100, 4), ran("same", "w", 100, 2)}
	of := func(trials uint64, most time.Duration, workload string, all []*misstepv1.CampaignStatus) estimate {
		c := &misstepv1.Campaign{
			Budget:    &misstepv1.Budget{Trials: trials, Time: durationpb.New(most)},
			Workloads: []*misstepv1.CampaignWorkload{{Name: workload}},
		}
		return estimateOf(c, 20, all)
	}
	e := of(100, 0, "w", newestFirst)
	assert.Equal(t, "same", e.Like.GetId())
	assert.Equal(t, []time.Duration{50 * time.Second, 10 * time.Second}, []time.Duration{e.Time, e.Pass})
	assert.InDelta(t, 5, e.Each, 0)
	assert.Equal(t, "other", of(100, 0, "new", newestFirst).Like.GetId())
	assert.Equal(t, 50*time.Second, of(100, time.Hour, "w", newestFirst).Time, "the trials are spent first")
	short := of(100, 10*time.Second, "w", newestFirst)
	assert.EqualValues(t, 20, short.Trials, "the time is spent first")
	assert.Equal(t, 10*time.Second, short.Time)
	assert.EqualValues(t, 20, of(0, 10*time.Second, "w", newestFirst).Trials)
	none := of(100, 0, "w", newestFirst[:1])
	assert.Nil(t, none.Like)
	assert.Zero(t, none.Time)
	assert.EqualValues(t, 100, none.Trials)
}
