package storetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
)

func campaigns(t *testing.T, s store.Store) {
	old, young, done := campaign("C1", time.Hour), campaign("C2", time.Minute), campaign("C3", 2*time.Hour)
	done.State, done.Ended = misstepv1.CampaignState_CAMPAIGN_STATE_DONE, t0
	done.Tally = &misstepv1.CampaignStatus{} // an empty message is kept as one
	done.StrategyState = nil
	update(t, s, func(tx store.Tx) {
		for _, c := range []*store.Campaign{old, young, done} {
			require.NoError(t, tx.PutCampaign(c))
		}
	})
	view(t, s, func(tx store.Tx) {
		got, err := tx.Campaign("C1")
		require.NoError(t, err)
		equal(t, old.Submission, got.Submission)
		equal(t, old.Tally, got.Tally)
		assert.Equal(t, old.Submitted.UTC(), got.Submitted)
		assert.Equal(t, []byte("state-C1"), got.StrategyState)
		assert.Equal(t, []any{old.ID, "owner-C1", old.State, old.Next, old.Turn, uint64(8), true},
			[]any{got.ID, got.Owner, got.State, got.Next, got.Turn, got.OwnerTurn, got.Ended.IsZero()})

		got, err = tx.Campaign("C3")
		require.NoError(t, err)
		assert.Equal(t, t0.UTC(), got.Ended)
		require.NotNil(t, got.Tally)
		assert.Empty(t, got.StrategyState)

		_, err = tx.Campaign("C4")
		require.ErrorIs(t, err, store.ErrNotFound)

		all, err := tx.Campaigns(false)
		require.NoError(t, err)
		assert.Equal(t, []string{"C2", "C1", "C3"}, ids(all, func(c *store.Campaign) string { return c.ID }))
		running, err := tx.Campaigns(true)
		require.NoError(t, err)
		assert.Equal(t, []string{"C2", "C1"}, ids(running, func(c *store.Campaign) string { return c.ID }))
	})
	old.Next, old.State = 9, misstepv1.CampaignState_CAMPAIGN_STATE_STOPPED
	update(t, s, func(tx store.Tx) { require.NoError(t, tx.PutCampaign(old)) })
	view(t, s, func(tx store.Tx) {
		got, err := tx.Campaign("C1")
		require.NoError(t, err)
		assert.EqualValues(t, 9, got.Next)
		running, err := tx.Campaigns(true)
		require.NoError(t, err)
		assert.Len(t, running, 1)
	})
}

func jobs(t *testing.T, s store.Store) {
	update(t, s, func(tx store.Tx) {
		require.NoError(t, tx.PutJob(store.Job{Campaign: "C1", Index: 5, Failures: 1, Lost: 2, NotBefore: t0}))
		require.NoError(t, tx.PutJob(store.Job{Campaign: "C1", Index: 2}))
		require.NoError(t, tx.PutJob(store.Job{Campaign: "C2", Index: 1}))
		require.NoError(t, tx.PutJob(store.Job{Campaign: "C1", Index: 2, Failures: 2}))
		require.NoError(t, tx.DeleteJob("C1", 99))
	})
	want := []store.Job{
		{Campaign: "C1", Index: 2, Failures: 2}, {Campaign: "C1", Index: 5, Failures: 1, Lost: 2, NotBefore: t0.UTC()},
	}
	view(t, s, func(tx store.Tx) {
		got, err := tx.Jobs("C1")
		require.NoError(t, err)
		assert.Equal(t, want, got)
	})
	update(t, s, func(tx store.Tx) { require.NoError(t, tx.DeleteJob("C1", 2)) })
	view(t, s, func(tx store.Tx) {
		got, err := tx.Jobs("C1")
		require.NoError(t, err)
		assert.Equal(t, want[1:], got)
		none, err := tx.Jobs("C9")
		require.NoError(t, err)
		assert.Empty(t, none)
	})
}

func readyJobs(t *testing.T, s store.Store) {
	update(t, s, func(tx store.Tx) {
		for _, j := range []store.Job{
			{Campaign: "C1", Index: 9, NotBefore: t0},
			{Campaign: "C1", Index: 2, NotBefore: t0.Add(1)}, // not yet
			{Campaign: "C1", Index: 4, Needs: "vm"},
			{Campaign: "C1", Index: 3, Needs: "sched_ext"},
			{Campaign: "C1", Index: 11},
			{Campaign: "C2", Index: 1},
		} {
			require.NoError(t, tx.PutJob(j))
		}
	})
	// Each question in a transaction of its own: one transaction may find only what was due at the first one.
	ready := func(in func(*testing.T, store.Store, func(store.Tx))) {
		t.Helper()
		for _, q := range []struct {
			filter store.ReadyFilter
			want   []uint64
		}{
			{store.ReadyFilter{At: t0, Limit: 10}, []uint64{9, 11}},
			{store.ReadyFilter{At: t0, Limit: 10, Capabilities: []string{"vm", "sched_ext"}}, []uint64{3, 4, 9, 11}},
			{store.ReadyFilter{At: t0, Limit: 2, Capabilities: []string{"vm", "vm"}}, []uint64{4, 9}},
			{store.ReadyFilter{At: t0.Add(1), Limit: 2}, []uint64{2, 9}},
			{store.ReadyFilter{At: t0, From: 10, Limit: 2}, []uint64{11}},
			{store.ReadyFilter{At: t0, Limit: 10}, []uint64{9, 11}}, // although a later time was asked for before
		} {
			in(t, s, func(tx store.Tx) {
				q.filter.Campaign = "C1"
				all, err := tx.ReadyJobs(q.filter)
				require.NoError(t, err)
				assert.Equal(t, q.want, ids(all, func(j store.Job) uint64 { return j.Index }), "%+v", q.filter)
			})
		}
		in(t, s, func(tx store.Tx) {
			n, err := tx.CountJobs("C1")
			require.NoError(t, err)
			assert.EqualValues(t, 5, n)
			all, err := tx.Jobs("C1")
			require.NoError(t, err)
			assert.Equal(t, "vm", all[2].Needs)
		})
	}
	ready(view)
	ready(update)
	ready(view)
	// A job that is put again waits again, or no more.
	update(t, s, func(tx store.Tx) {
		require.NoError(t, tx.PutJob(store.Job{Campaign: "C1", Index: 9, NotBefore: t0.Add(1)}))
		require.NoError(t, tx.PutJob(store.Job{Campaign: "C1", Index: 2}))
	})
	for _, q := range []struct {
		at   time.Time
		want int
	}{{t0, 2}, {t0.Add(1), 3}} {
		update(t, s, func(tx store.Tx) {
			all, err := tx.ReadyJobs(store.ReadyFilter{Campaign: "C1", At: q.at, Limit: 10})
			require.NoError(t, err)
			assert.Len(t, all, q.want, q.at)
		})
	}
}

func jobsWithRecipes(t *testing.T, s store.Store) {
	recipe := &misstepv1.Recipe{Seed: 1<<64 - 1, JvmFlags: []string{"-Xcomp"}}
	update(t, s, func(tx store.Tx) {
		c := campaign("R1", 0)
		c.Probes = true
		require.NoError(t, tx.PutCampaign(c))
		require.NoError(t, tx.PutJob(store.Job{Campaign: "R1", Index: 1, Recipe: recipe}))
		require.NoError(t, tx.PutJob(store.Job{Campaign: "R1", Index: 2}))
	})
	recipe.Seed = 3 // the store has a copy
	view(t, s, func(tx store.Tx) {
		c, err := tx.Campaign("R1")
		require.NoError(t, err)
		assert.True(t, c.Probes)
		got, err := tx.Jobs("R1")
		require.NoError(t, err)
		require.Len(t, got, 2)
		equal(t, &misstepv1.Recipe{Seed: 1<<64 - 1, JvmFlags: []string{"-Xcomp"}}, got[0].Recipe)
		assert.Nil(t, got[1].Recipe)
	})
}

func reproductions(t *testing.T, s store.Store) {
	row := func(id string, age time.Duration, state misstepv1.ReproductionState) *misstepv1.Reproduction {
		return &misstepv1.Reproduction{
			Id: id, State: state, Started: timestamppb.New(t0.Add(-age)),
			Spec: &misstepv1.ReproductionSpec{FindingId: "F1", Seed: 1<<64 - 1},
			Arms: []*misstepv1.ReproductionArm{{Key: "confirm/base/0", Results: "hm."}}, Next: 3,
		}
	}
	old := row("R1", time.Hour, misstepv1.ReproductionState_REPRODUCTION_STATE_RUNNING)
	young := row("R2", time.Minute, misstepv1.ReproductionState_REPRODUCTION_STATE_RUNNING)
	done := row("R3", 2*time.Hour, misstepv1.ReproductionState_REPRODUCTION_STATE_DONE)
	update(t, s, func(tx store.Tx) {
		for _, r := range []*misstepv1.Reproduction{old, young, done} {
			require.NoError(t, tx.PutReproduction(r))
		}
	})
	view(t, s, func(tx store.Tx) {
		got, err := tx.Reproduction("R1")
		require.NoError(t, err)
		equal(t, old, got)
		_, err = tx.Reproduction("R4")
		require.ErrorIs(t, err, store.ErrNotFound)
		all, err := tx.Reproductions(false)
		require.NoError(t, err)
		assert.Equal(t, []string{"R2", "R1", "R3"}, ids(all, (*misstepv1.Reproduction).GetId))
		running, err := tx.Reproductions(true)
		require.NoError(t, err)
		assert.Equal(t, []string{"R2", "R1"}, ids(running, (*misstepv1.Reproduction).GetId))
		require.Error(t, tx.PutReproduction(old), "views do not write")
	})
	old.State, old.Arms[0].Results = misstepv1.ReproductionState_REPRODUCTION_STATE_CANCELLED, "hmc"
	update(t, s, func(tx store.Tx) { require.NoError(t, tx.PutReproduction(old)) })
	view(t, s, func(tx store.Tx) {
		got, err := tx.Reproduction("R1")
		require.NoError(t, err)
		equal(t, old, got)
		running, err := tx.Reproductions(true)
		require.NoError(t, err)
		assert.Len(t, running, 1)
	})
}
