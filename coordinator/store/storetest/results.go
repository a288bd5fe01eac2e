package storetest

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
)

func leases(t *testing.T, s store.Store) {
	a := lease("L1", "r1", "C1", 0, t0.Add(1))
	b := lease("L2", "r2", "C1", 1, t0.Add(2))
	c := lease("L3", "r1", "C2", 0, t0.Add(3))
	update(t, s, func(tx store.Tx) {
		for _, l := range []*store.Lease{c, b, a} {
			require.NoError(t, tx.PutLease(l))
		}
	})
	list := func(tx store.Tx, f store.LeaseFilter) []string {
		got, err := tx.Leases(f)
		require.NoError(t, err)
		return ids(got, func(l *store.Lease) string { return l.ID })
	}
	view(t, s, func(tx store.Tx) {
		got, err := tx.Lease("L2")
		require.NoError(t, err)
		equal(t, b.Recipe, got.Recipe)
		assert.Equal(t, b.Job, got.Job)
		assert.Equal(t, []any{"r2", t0.UTC(), t0.Add(2).UTC()}, []any{got.Runner, got.Granted, got.Deadline})
		_, err = tx.Lease("L9")
		require.ErrorIs(t, err, store.ErrNotFound)

		assert.Equal(t, []string{"L1", "L2", "L3"}, list(tx, store.LeaseFilter{}))
		assert.Equal(t, []string{"L1", "L3"}, list(tx, store.LeaseFilter{Runner: "r1"}))
		assert.Equal(t, []string{"L1", "L2", "L3"}, list(tx, store.LeaseFilter{Runners: []string{"r2", "r1", "r9"}}))
		assert.Equal(t, []string{"L1", "L2"}, list(tx, store.LeaseFilter{Campaign: "C1"}))
		assert.Equal(t, []string{"L1"}, list(tx, store.LeaseFilter{Campaign: "C1", Runner: "r1"}))
		assert.Equal(t, []string{"L1", "L2"}, list(tx, store.LeaseFilter{ExpiredAt: t0.Add(2)}),
			"a lease is lost at its deadline")
		assert.Equal(t, []string{"L1", "L2"}, list(tx, store.LeaseFilter{Limit: 2}))
		assert.Equal(t, []string{"L1"}, list(tx, store.LeaseFilter{ExpiredAt: t0.Add(2), Limit: 1}))
		assert.Equal(t, []string{"L1"}, list(tx, store.LeaseFilter{Runners: []string{"r1", "r2"}, Limit: 1}))
		assert.Equal(t, []string{"L1", "L2"}, list(tx, store.LeaseFilter{Campaign: "C1", Limit: 9}))
		n, err := tx.CountLeases("C1")
		require.NoError(t, err)
		assert.EqualValues(t, 2, n)
	})
	a.Deadline = t0.Add(10)
	update(t, s, func(tx store.Tx) {
		require.NoError(t, tx.PutLease(a))
		require.NoError(t, tx.DeleteLease("L2"))
		require.NoError(t, tx.DeleteLease("L9"))
	})
	view(t, s, func(tx store.Tx) {
		assert.Empty(t, list(tx, store.LeaseFilter{ExpiredAt: t0.Add(2)}))
		assert.Equal(t, []string{"L1", "L3"}, list(tx, store.LeaseFilter{}))
		assert.Equal(t, []string{"L3", "L1"}, list(tx, store.LeaseFilter{Limit: 2}), "the earliest deadlines first")
	})
	update(t, s, func(tx store.Tx) { require.NoError(t, tx.ExtendLeases(t0.Add(7))) })
	view(t, s, func(tx store.Tx) {
		for id, at := range map[string]time.Time{"L1": t0.Add(10), "L3": t0.Add(7)} {
			l, err := tx.Lease(id)
			require.NoError(t, err)
			assert.Equal(t, at.UTC(), l.Deadline, id)
		}
		require.Error(t, tx.ExtendLeases(t0.Add(9)), "a View writes nothing")
	})
}

// ownedLeases checks that an owner's leases are those of its runners, and not those of owners whose names begin alike.
func ownedLeases(t *testing.T, s store.Store) {
	update(t, s, func(tx store.Tx) {
		holders := []string{"r", "runner a r", "runner a s", "runner a b r", "runner ab r", "runner a!r r", "runner A r"}
		for i, holder := range holders {
			require.NoError(t, tx.PutLease(lease("L"+string(rune('0'+i)), holder, "C1", uint64(i), t0.Add(1))))
		}
	})
	view(t, s, func(tx store.Tx) {
		for owner, want := range map[string][]string{
			"runner a": {"L1", "L2"}, "runner a b": {"L3"}, "runner ab": {"L4"}, "runner": nil, "runner a!r": {"L5"}, "x": nil,
		} {
			got, err := tx.Leases(store.LeaseFilter{Owner: owner})
			require.NoError(t, err)
			assert.ElementsMatch(t, want, ids(got, func(l *store.Lease) string { return l.ID }), owner)
		}
	})
}

func oneLease(t *testing.T, s store.Store) {
	update(t, s, func(tx store.Tx) { require.NoError(t, tx.PutLease(lease("L1", "r1", "C1", 4, t0))) })
	err := s.Update(t.Context(), func(tx store.Tx) error { return tx.PutLease(lease("L2", "r2", "C1", 4, t0)) })
	require.ErrorIs(t, err, store.ErrExists)
	update(t, s, func(tx store.Tx) {
		require.NoError(t, tx.DeleteLease("L1"))
		require.NoError(t, tx.PutLease(lease("L2", "r2", "C1", 4, t0)), "the trial is free again")
	})
}

func trials(t *testing.T, s store.Store) {
	rows := []*store.Trial{
		{
			Campaign: "C1", Index: 7, Recipe: &misstepv1.Recipe{Seed: 1}, Outcome: &misstepv1.Outcome{Reason: "r"},
			FindingIDs: []string{"F1", "F2"}, Ended: t0,
		},
		{Campaign: "C2", Index: 7, Recipe: &misstepv1.Recipe{}, Outcome: &misstepv1.Outcome{}, Ended: t0},
		{Campaign: "C1", Index: 3, Recipe: &misstepv1.Recipe{}, Failure: &misstepv1.InfrastructureFailure{Message: "m"}, Ended: t0},
		{Campaign: "C1", Index: 4, Recipe: &misstepv1.Recipe{}, Outcome: &misstepv1.Outcome{}, Ended: t0},
	}
	var err error
	rows[0].Encoded, err = proto.Marshal(rows[0].Outcome)
	require.NoError(t, err)
	update(t, s, func(tx store.Tx) {
		for _, r := range rows {
			require.NoError(t, tx.AddTrial(r))
		}
	})
	view(t, s, func(tx store.Tx) {
		list, err := tx.Trials("C1", 0, 100)
		require.NoError(t, err)
		require.Len(t, list, 3)
		assert.Nil(t, list[0].Encoded)
		assert.IsIncreasing(t, []uint64{list[0].ID, list[1].ID, list[2].ID})
		assert.Equal(t, []uint64{7, 3, 4}, []uint64{list[0].Index, list[1].Index, list[2].Index}, "in order of their end")
		equal(t, rows[0].Recipe, list[0].Recipe)
		equal(t, rows[0].Outcome, list[0].Outcome)
		equal(t, rows[2].Failure, list[1].Failure)
		assert.Nil(t, list[0].Failure)
		assert.Nil(t, list[1].Outcome)
		assert.NotNil(t, list[2].Outcome, "an empty outcome is an outcome")
		assert.Equal(t, rows[0].FindingIDs, list[0].FindingIDs)
		assert.Empty(t, list[1].FindingIDs)
		assert.Equal(t, t0.UTC(), list[0].Ended)

		page, err := tx.Trials("C1", list[0].ID, 1)
		require.NoError(t, err)
		require.Len(t, page, 1)
		assert.Equal(t, list[1].ID, page[0].ID)
		page, err = tx.Trials("C1", list[2].ID, 10)
		require.NoError(t, err)
		assert.Empty(t, page)
	})
}

func oneResult(t *testing.T, s store.Store) {
	first := &store.Trial{
		Campaign: "C1", Index: 7, Recipe: &misstepv1.Recipe{}, Outcome: &misstepv1.Outcome{Reason: "first"}, Ended: t0,
	}
	update(t, s, func(tx store.Tx) {
		require.NoError(t, tx.AddTrial(first))
	})
	second := proto.CloneOf(first.Outcome)
	second.Reason = "second"
	err := s.Update(t.Context(), func(tx store.Tx) error {
		return tx.AddTrial(&store.Trial{Campaign: "C1", Index: 7, Recipe: &misstepv1.Recipe{}, Outcome: second, Ended: t0})
	})
	require.ErrorIs(t, err, store.ErrExists)
	view(t, s, func(tx store.Tx) {
		list, err := tx.Trials("C1", 0, 10)
		require.NoError(t, err)
		require.Len(t, list, 1)
		assert.Equal(t, "first", list[0].Outcome.GetReason())
	})
}

// putOutcome replaces an outcome: rates do not change, and an update that fails leaves the old one.
func putOutcome(t *testing.T, s store.Store) {
	const kind = misstepv1.OutcomeKind_OUTCOME_KIND_CLEAN
	whole := &misstepv1.Outcome{Kind: kind, Evidence: []*misstepv1.Evidence{{Name: "stdout.txt"}}}
	slim := &misstepv1.Outcome{Kind: whole.GetKind(), Aged: true}
	recipe := &misstepv1.Recipe{Jdk: &misstepv1.Jdk{Name: "25"}}
	update(t, s, func(tx store.Tx) {
		for i := range uint64(2) {
			err := tx.AddTrial(&store.Trial{Campaign: "C1", Index: i, Recipe: recipe, Outcome: whole, Ended: t0})
			require.NoError(t, err)
		}
	})
	outcomes := func() (got []*misstepv1.Outcome, last uint64) {
		view(t, s, func(tx store.Tx) {
			list, err := tx.Trials("C1", 0, 10)
			require.NoError(t, err)
			for _, trial := range list {
				equal(t, recipe, trial.Recipe)
				got, last = append(got, trial.Outcome), trial.ID
			}
			counts, err := tx.Counts()
			require.NoError(t, err)
			require.Len(t, counts, 1)
			assert.EqualValues(t, 2, counts[0].N)
		})
		return got, last
	}
	_, last := outcomes()
	broken := errors.New("broken")
	require.ErrorIs(t, s.Update(t.Context(), func(tx store.Tx) error {
		return errors.Join(tx.PutOutcome(last, slim), broken)
	}), broken)
	got, _ := outcomes()
	equal(t, whole, got[1])
	update(t, s, func(tx store.Tx) {
		require.NoError(t, tx.PutOutcome(last, slim))
		require.ErrorIs(t, tx.PutOutcome(last+1, slim), store.ErrNotFound)
	})
	got, _ = outcomes()
	equal(t, whole, got[0])
	equal(t, slim, got[1])
}
