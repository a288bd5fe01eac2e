package coordinator

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"misstep/coordinator/queue"
	"misstep/coordinator/steer"
	"misstep/coordinator/store"
	"misstep/coordinator/store/memory"
	misstepv1 "misstep/proto/misstep/v1"
)

// lastHit repeats the JDK of the last trial that showed a finding; until one does, it takes each in turn. JDKs are a, b, c.
type lastHit struct {
	size uint64
	best []byte // the JDK's name
}

func (l *lastHit) Choose(index uint64) uint64 {
	if len(l.best) > 0 {
		return uint64(l.best[0] - 'a')
	}
	return index % l.size
}

func (l *lastHit) Learn(r steer.Result) {
	if len(r.FindingIDs) > 0 {
		l.best = []byte(r.Recipe.GetJdk().GetName())
	}
}

func (l *lastHit) State() ([]byte, error) { return l.best, nil }

// A learning strategy steers the following trials, even when the coordinator is restarted for each of them.
func TestStrategyLearns(t *testing.T) {
	s := memory.New()
	c := &store.Campaign{
		ID: "C1", State: misstepv1.CampaignState_CAMPAIGN_STATE_RUNNING, Tally: &misstepv1.CampaignStatus{},
		Submission: &misstepv1.SubmitCampaignRequest{
			Campaign: &misstepv1.Campaign{Jdks: []string{"a", "b", "c"}, Workloads: []*misstepv1.CampaignWorkload{{Name: "w"}}},
			Jdks:     []*misstepv1.Jdk{{Name: "a"}, {Name: "b"}, {Name: "c"}}, Workloads: []*misstepv1.Workload{{Name: "w"}},
		},
	}
	require.NoError(t, s.Update(t.Context(), func(tx store.Tx) error { return tx.PutCampaign(c) }))
	now, ids := time.Unix(1_800_000_000, 0), 0
	var order []string
	for i := range 6 {
		newID := func() string { ids++; return fmt.Sprint("L", ids) }
		q := queue.New(queue.DefaultPolicy(), newID, func(c *store.Campaign) queue.Source {
			return &product{campaign: c, expansions: &expansions{}, newStrategy: func(_ misstepv1.Strategy, c steer.Config) (steer.Strategy, error) {
				return &lastHit{size: c.Size, best: c.State}, nil
			}}
		})
		require.NoError(t, s.Update(t.Context(), func(tx store.Tx) error {
			leases, err := q.Grant(tx, queue.Runner{ID: "r"}, 1, nil, now)
			require.NoError(t, err)
			require.Len(t, leases, 1)
			jdk := leases[0].Recipe.GetJdk().GetName()
			order = append(order, jdk)
			if i == 3 { // a trial that failed once keeps its recipe, whatever has been learnt
				return q.Fail(tx, leases[0], &misstepv1.InfrastructureFailure{Interrupted: true}, now)
			}
			var hits []string
			if jdk == "b" {
				hits = []string{"F1"}
			}
			return q.Complete(tx, leases[0], queue.Result{
				Outcome: &misstepv1.Outcome{Kind: misstepv1.OutcomeKind_OUTCOME_KIND_CLEAN}, FindingIDs: hits,
			}, now)
		}))
	}
	assert.Equal(t, []string{"a", "b", "b", "b", "b", "b"}, order)
	require.NoError(t, s.View(t.Context(), func(tx store.Tx) error {
		c, err := tx.Campaign("C1")
		assert.Equal(t, "b", string(c.StrategyState))
		assert.EqualValues(t, 5, c.Next, "the trial that was put back was leased again")
		return err
	}))
}

// Stores of older versions have no recipe for a campaign's waiting trial: it follows from the index.
func TestWaitingTrialOfAnOlderStore(t *testing.T) {
	s := memory.New()
	server := New(Config{Store: s})
	sub := &misstepv1.SubmitCampaignRequest{
		Campaign: &misstepv1.Campaign{
			Name: "old", Seed: 11, Jdks: []string{"a", "b", "c"},
			Workloads: []*misstepv1.CampaignWorkload{{Name: "w"}}, Checks: []*misstepv1.Check{{Name: "gst-asgct"}},
			Budget: &misstepv1.Budget{Trials: 9},
		},
		Workloads: []*misstepv1.Workload{{Name: "w", Digest: "sha256:" + fmt.Sprintf("%064d", 1)}},
	}
	for _, name := range sub.GetCampaign().GetJdks() {
		sub.Jdks = append(sub.Jdks, &misstepv1.Jdk{Name: name, Digest: "sha256:" + fmt.Sprintf("%064d", 2)})
	}
	submitted, err := server.SubmitCampaign(t.Context(), sub)
	require.NoError(t, err)
	var want *misstepv1.Recipe
	require.NoError(t, s.Update(t.Context(), func(tx store.Tx) error {
		c, err := tx.Campaign(submitted.GetCampaignId())
		require.NoError(t, err)
		want, err = server.source(c).Recipe(4)
		require.NoError(t, err)
		c.Next = 9
		require.NoError(t, tx.PutCampaign(c))
		return tx.PutJob(store.Job{Campaign: c.ID, Index: 4, Failures: 1})
	}))
	got, err := server.Synchronize(t.Context(), &misstepv1.SynchronizeRequest{
		Runner: &misstepv1.Runner{Id: "r", Slots: 1}, FreeSlots: 1,
	})
	require.NoError(t, err)
	require.Len(t, got.GetDesired(), 1)
	assert.True(t, proto.Equal(want, got.GetDesired()[0].GetRecipe()), "want %v\n got %v", want, got.GetDesired()[0].GetRecipe())
}

// A trial that its runner hands back is nobody's failure.
func TestKindsOfResults(t *testing.T) {
	for want, h := range map[string]*misstepv1.HeldLease{
		"crash":               {State: &misstepv1.HeldLease_Outcome{Outcome: &misstepv1.Outcome{Kind: misstepv1.OutcomeKind_OUTCOME_KIND_CRASH}}},
		InfrastructureFailure: {State: &misstepv1.HeldLease_Failure{Failure: &misstepv1.InfrastructureFailure{}}},
		HandedBack:            {State: &misstepv1.HeldLease_Failure{Failure: &misstepv1.InfrastructureFailure{Interrupted: true}}},
	} {
		got, ended := kindOf(h)
		assert.True(t, ended)
		assert.Equal(t, want, got)
	}
	_, ended := kindOf(&misstepv1.HeldLease{State: &misstepv1.HeldLease_Running{Running: &misstepv1.Progress{}}})
	assert.False(t, ended)
}
