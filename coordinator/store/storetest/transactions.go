package storetest

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/coordinator/rates"
	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
)

// fill writes a row of each kind; change writes over each of them and adds more.
func fill(t *testing.T, tx store.Tx) {
	require.NoError(t, tx.PutCampaign(campaign("C1", 0)))
	require.NoError(t, tx.PutJob(store.Job{Campaign: "C1", Index: 1}))
	require.NoError(t, tx.PutLease(lease("L1", "r1", "C1", 2, t0)))
	err := tx.AddTrial(&store.Trial{
		Campaign: "C1", Index: 3, Recipe: &misstepv1.Recipe{}, Outcome: &misstepv1.Outcome{}, FindingIDs: []string{"F1"}, Ended: t0,
	})
	require.NoError(t, err)
	require.NoError(t, tx.PutFinding(&store.Finding{Proto: &misstepv1.Finding{Id: "F1", Hits: 1}}))
	_, err = tx.AddDecision(&misstepv1.TriageDecision{Kind: "merge"})
	require.NoError(t, err)
}

func change(t *testing.T, tx store.Tx) {
	c := campaign("C1", 0)
	c.Next = 99
	require.NoError(t, tx.PutCampaign(c))
	require.NoError(t, tx.PutCampaign(campaign("C2", 0)))
	require.NoError(t, tx.DeleteJob("C1", 1))
	require.NoError(t, tx.PutJob(store.Job{Campaign: "C1", Index: 5}))
	require.NoError(t, tx.DeleteLease("L1"))
	require.NoError(t, tx.PutLease(lease("L2", "r2", "C1", 2, t0)))
	err := tx.AddTrial(&store.Trial{
		Campaign: "C1", Index: 4, Recipe: &misstepv1.Recipe{}, Outcome: &misstepv1.Outcome{}, FindingIDs: []string{"F1"}, Ended: t0,
	})
	require.NoError(t, err)
	require.NoError(t, tx.PutFinding(&store.Finding{Proto: &misstepv1.Finding{Id: "F1", Hits: 2}}))
	require.NoError(t, tx.PutDecision(&misstepv1.TriageDecision{Id: 1, Kind: "split"}))
	_, err = tx.AddDecision(&misstepv1.TriageDecision{Kind: "merge"})
	require.NoError(t, err)
}

func unchanged(t *testing.T, s store.Store) {
	view(t, s, func(tx store.Tx) {
		all, err := tx.Campaigns(false)
		require.NoError(t, err)
		require.Len(t, all, 1)
		assert.EqualValues(t, 3, all[0].Next)
		js, err := tx.Jobs("C1")
		require.NoError(t, err)
		assert.Equal(t, []store.Job{{Campaign: "C1", Index: 1}}, js)
		ls, err := tx.Leases(store.LeaseFilter{})
		require.NoError(t, err)
		assert.Equal(t, []string{"L1"}, ids(ls, func(l *store.Lease) string { return l.ID }))
		ts, err := tx.Trials("C1", 0, 10)
		require.NoError(t, err)
		assert.Len(t, ts, 1)
		f, err := tx.Finding("F1")
		require.NoError(t, err)
		assert.EqualValues(t, 1, f.Proto.GetHits())
		one := []rates.Count{{Combination: rates.CombinationOf("C1", &misstepv1.Recipe{}), N: 1}}
		cs, err := tx.Counts()
		require.NoError(t, err)
		assert.Equal(t, one, cs)
		hs, err := tx.Hits("F1")
		require.NoError(t, err)
		assert.Equal(t, one, hs)
		ds, err := tx.Decisions()
		require.NoError(t, err)
		require.Len(t, ds, 1)
		assert.Equal(t, "merge", ds[0].GetKind())
	})
	// What was rolled back can be repeated.
	update(t, s, func(tx store.Tx) { change(t, tx) })
}

func rollback(t *testing.T, s store.Store) {
	update(t, s, func(tx store.Tx) { fill(t, tx) })
	boom := errors.New("boom")
	err := s.Update(t.Context(), func(tx store.Tx) error { change(t, tx); return boom })
	require.ErrorIs(t, err, boom)
	unchanged(t, s)
}

func panicRollback(t *testing.T, s store.Store) {
	update(t, s, func(tx store.Tx) { fill(t, tx) })
	assert.Panics(t, func() {
		_ = s.Update(t.Context(), func(tx store.Tx) error { change(t, tx); panic("boom") })
	})
	unchanged(t, s)
}

func readOnly(t *testing.T, s store.Store) {
	update(t, s, func(tx store.Tx) { fill(t, tx) })
	for name, write := range map[string]func(tx store.Tx) error{
		"campaign": func(tx store.Tx) error { return tx.PutCampaign(campaign("C9", 0)) },
		"job":      func(tx store.Tx) error { return tx.PutJob(store.Job{Campaign: "C1", Index: 9}) },
		"delete":   func(tx store.Tx) error { return tx.DeleteLease("L1") },
		"decision": func(tx store.Tx) error {
			_, err := tx.AddDecision(&misstepv1.TriageDecision{Kind: "merge"})
			return err
		},
		"old decision": func(tx store.Tx) error { return tx.PutDecision(&misstepv1.TriageDecision{Id: 1}) },
	} {
		require.Errorf(t, s.View(t.Context(), write), "%s written in a view", name)
	}
	unchanged(t, s)
}

func copies(t *testing.T, s store.Store) {
	mine := campaign("C1", 0)
	update(t, s, func(tx store.Tx) { require.NoError(t, tx.PutCampaign(mine)) })
	mine.Submission.Campaign.Name = "changed"
	mine.StrategyState[0] = '-'
	mine.Tally.Outcomes["clean"] = 50
	view(t, s, func(tx store.Tx) {
		got, err := tx.Campaign("C1")
		require.NoError(t, err)
		assert.Equal(t, "name-C1", got.Submission.GetCampaign().GetName())
		assert.Equal(t, []byte("state-C1"), got.StrategyState)
		got.StrategyState[0] = '-'
		got.Submission.Campaign.Name = "changed"
		got.Tally.Outcomes["clean"] = 50
		again, err := tx.Campaign("C1")
		require.NoError(t, err)
		assert.Equal(t, "name-C1", again.Submission.GetCampaign().GetName())
		assert.EqualValues(t, 2, again.Tally.GetOutcomes()["clean"])
		assert.Equal(t, []byte("state-C1"), again.StrategyState)
	})
}

func serial(t *testing.T, s store.Store, times int) {
	update(t, s, func(tx store.Tx) {
		c := campaign("C1", 0)
		c.Next = 0
		require.NoError(t, tx.PutCampaign(c))
	})
	const writers = 8
	var wg sync.WaitGroup
	errs := make(chan error, writers)
	for range writers {
		wg.Go(func() {
			for range times {
				if err := s.Update(context.Background(), func(tx store.Tx) error {
					c, err := tx.Campaign("C1")
					if err != nil {
						return err
					}
					c.Next++
					return tx.PutCampaign(c)
				}); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		require.NoError(t, err)
	}
	view(t, s, func(tx store.Tx) {
		c, err := tx.Campaign("C1")
		require.NoError(t, err)
		assert.EqualValues(t, writers*times, c.Next)
	})
}

func cancelled(t *testing.T, s store.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, s.Update(ctx, func(store.Tx) error { return nil }), context.Canceled)
	require.ErrorIs(t, s.View(ctx, func(store.Tx) error { return nil }), context.Canceled)
}

// durable: what Update acknowledged is there when the rows are opened next, although the store was not closed.
func durable(t *testing.T, killed store.Store, reopen func(*testing.T, store.Store) store.Store) {
	update(t, killed, func(tx store.Tx) { fill(t, tx) })
	s := reopen(t, killed)
	defer func() { require.NoError(t, s.Close()) }()
	unchanged(t, s)
}

// A caller that leaves while its transaction begins, runs or ends leaves no transaction behind: later ones do what they should.
func cancelledAtAnyMoment(t *testing.T, s store.Store) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		ctx, cancel := context.WithCancel(t.Context())
		timer := time.AfterFunc(time.Duration(random.IntN(200_000)), cancel)
		if err := s.Update(ctx, func(store.Tx) error { return nil }); err != nil {
			require.ErrorIs(t, err, context.Canceled)
		}
		timer.Stop()
		cancel()
		require.NoError(t, s.Update(t.Context(), func(store.Tx) error { return nil }))
	}
}
