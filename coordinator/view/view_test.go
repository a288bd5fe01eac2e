package view_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"misstep/coordinator/queue"
	"misstep/coordinator/store"
	"misstep/coordinator/store/memory"
	"misstep/coordinator/view"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
)

var now = time.Unix(1_800_000_000, 0)

// fleet of one runner that can do nothing special and runs lease L1.
type fleet struct{ lastCall time.Time }

func (f fleet) Runners() []*misstepv1.RunnerStatus {
	return []*misstepv1.RunnerStatus{
		{Runner: &misstepv1.Runner{Id: "r2"}, LastCall: timestamppb.New(f.lastCall)},
		{Runner: &misstepv1.Runner{Id: "r1", Slots: 4}, LastCall: timestamppb.New(now)},
	}
}

func (fleet) Capable(recipe.Capability) bool { return false }

func (fleet) Progress(lease string) *misstepv1.Progress {
	if lease != "L1" {
		return nil
	}
	return &misstepv1.Progress{Checks: []*misstepv1.CheckCount{{Check: "gst-asgct", Total: 5}}}
}

func reader(f view.Fleet) view.Reader {
	return view.Reader{Queue: queue.New(queue.DefaultPolicy(), nil, func(*store.Campaign) queue.Source { return nil }), Fleet: f}
}

// seen runs f on a store with a campaign of ten trials: six ended, one waits for a machine, one runs.
func seen(t *testing.T, f func(tx store.Tx, c *store.Campaign)) {
	s := memory.New()
	require.NoError(t, s.Update(t.Context(), func(tx store.Tx) error {
		require.NoError(t, tx.PutCampaign(&store.Campaign{
			ID: "C1", State: misstepv1.CampaignState_CAMPAIGN_STATE_RUNNING, Submitted: now.Add(-time.Minute), Next: 8,
			Submission: &misstepv1.SubmitCampaignRequest{Campaign: &misstepv1.Campaign{Budget: &misstepv1.Budget{Trials: 10}}},
			Tally: &misstepv1.CampaignStatus{
				Outcomes: map[string]uint64{"clean": 4, "crash": 1}, Failed: 1,
				Checks: []*misstepv1.CheckCount{{Check: "gst-asgct", Total: 40}},
			},
		}))
		require.NoError(t, tx.PutJob(store.Job{Campaign: "C1", Index: 6, Recipe: &misstepv1.Recipe{Executor: "vm"}}))
		return tx.PutLease(&store.Lease{
			ID: "L1", Runner: "r1", Job: store.Job{Campaign: "C1", Index: 7}, Recipe: &misstepv1.Recipe{},
		})
	}))
	require.NoError(t, s.View(t.Context(), func(tx store.Tx) error {
		c, err := tx.Campaign("C1")
		require.NoError(t, err)
		f(tx, c)
		return nil
	}))
}

func TestCampaign(t *testing.T) {
	seen(t, func(tx store.Tx, c *store.Campaign) {
		st, err := reader(fleet{}).Campaign(tx, c, now)
		require.NoError(t, err)
		assert.Equal(t, []uint64{3, 1, 10}, []uint64{st.GetQueued(), st.GetRunning(), st.GetPlanned()})
		assert.Equal(t, map[string]uint64{"vm": 1}, st.GetUnplaced())
		assert.EqualValues(t, 45, st.GetChecks()[0].GetTotal(), "with what is under way")
		assert.InDelta(t, 0.1, st.GetTrialsPerSecond(), 1e-9)
	})
}

func TestRateOfACampaignThatEnded(t *testing.T) {
	seen(t, func(tx store.Tx, c *store.Campaign) {
		c.State, c.Ended = misstepv1.CampaignState_CAMPAIGN_STATE_STOPPED, now.Add(-time.Minute+2*time.Second)
		st, err := reader(fleet{}).Campaign(tx, c, now.Add(time.Hour))
		require.NoError(t, err)
		assert.InDelta(t, 3, st.GetTrialsPerSecond(), 1e-9, "it does not fade")
	})
}

func TestRunners(t *testing.T) {
	seen(t, func(tx store.Tx, _ *store.Campaign) {
		for age, want := range map[time.Duration][]string{time.Second: {"r1", "r2"}, time.Hour: {"r1"}} {
			all, err := reader(fleet{now.Add(-age)}).Runners(tx, time.Minute, now)
			require.NoError(t, err)
			var ids []string
			for _, r := range all {
				ids = append(ids, r.GetRunner().GetId())
			}
			assert.Equal(t, want, ids)
			assert.EqualValues(t, 1, all[0].GetRunning())
			assert.EqualValues(t, 4, all[0].GetRunner().GetSlots())
		}
	})
}

// The time left of a reproduction whose budget has just ended is not negative.
func TestTimeLeftOfAReproductionIsNotNegative(t *testing.T) {
	s := memory.New()
	for over, want := range map[time.Duration]time.Duration{79 * time.Second: 0, -time.Second: time.Second} {
		require.NoError(t, s.View(t.Context(), func(tx store.Tx) error {
			status, err := reader(fleet{}).Reproduction(tx, &misstepv1.Reproduction{
				Id: "R1", State: misstepv1.ReproductionState_REPRODUCTION_STATE_RUNNING, Next: 1,
				Started: timestamppb.New(now.Add(-time.Hour - over)),
				Spec: &misstepv1.ReproductionSpec{
					FindingId: "F", Recipe: &misstepv1.Recipe{Seed: 1}, Trials: 1000, Time: durationpb.New(time.Hour),
				},
			}, now)
			require.NoError(t, err)
			require.Equal(t, want, status.GetLeft().AsDuration(), "over by %v", over)
			return nil
		}))
	}
}
