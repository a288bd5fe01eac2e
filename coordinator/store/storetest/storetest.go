// Package storetest is the suite that every store passes.
package storetest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"misstep/coordinator/rates"
	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
)

// t0 has nanoseconds and a zone, both of which a store has to cope with.
var t0 = time.Date(2026, 3, 4, 5, 6, 7, 123456789, time.FixedZone("test", 3600))

// Run runs the suite; open gives a new empty store and the test closes it.
func Run(t *testing.T, open func(t *testing.T) store.Store) {
	for _, c := range []struct {
		name string
		test func(*testing.T, store.Store)
	}{
		{"campaigns", campaigns},
		{"jobs", jobs},
		{"jobs with recipes", jobsWithRecipes},
		{"reproductions", reproductions},
		{"leases", leases},
		{"one lease for a trial", oneLease},
		{"trials", trials},
		{"one result for a trial", oneResult},
		{"findings", findings},
		{"counts and hits", countsAndHits},
		{"decisions", decisions},
		{"failed update leaves nothing", rollback},
		{"panic leaves nothing", panicRollback},
		{"views do not write", readOnly},
		{"rows are copies", copies},
		{"updates are serial", serial},
		{"cancelled context", cancelled},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := open(t)
			defer func() { require.NoError(t, s.Close()) }()
			c.test(t, s)
		})
	}
}

func update(t *testing.T, s store.Store, f func(tx store.Tx)) {
	t.Helper()
	require.NoError(t, s.Update(t.Context(), func(tx store.Tx) error { f(tx); return nil }))
}

func view(t *testing.T, s store.Store, f func(tx store.Tx)) {
	t.Helper()
	require.NoError(t, s.View(t.Context(), func(tx store.Tx) error { f(tx); return nil }))
}

func equal(t *testing.T, want, got proto.Message) {
	t.Helper()
	assert.Truef(t, proto.Equal(want, got), "want %v\n got %v", want, got)
}

func campaign(id string, age time.Duration) *store.Campaign {
	return &store.Campaign{
		ID: id, State: misstepv1.CampaignState_CAMPAIGN_STATE_RUNNING, Submitted: t0.Add(-age), Next: 3, Turn: 7,
		Submission: &misstepv1.SubmitCampaignRequest{Campaign: &misstepv1.Campaign{Name: "name-" + id, Seed: 1<<64 - 1}},
		Tally:      &misstepv1.CampaignStatus{Outcomes: map[string]uint64{"clean": 2}},
	}
}

func campaigns(t *testing.T, s store.Store) {
	old, young, done := campaign("C1", time.Hour), campaign("C2", time.Minute), campaign("C3", 2*time.Hour)
	done.State, done.Ended = misstepv1.CampaignState_CAMPAIGN_STATE_DONE, t0
	done.Tally = &misstepv1.CampaignStatus{} // an empty message is kept as one
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
		assert.Equal(t, []any{old.ID, old.State, old.Next, old.Turn, true}, []any{got.ID, got.State, got.Next, got.Turn, got.Ended.IsZero()})

		got, err = tx.Campaign("C3")
		require.NoError(t, err)
		assert.Equal(t, t0.UTC(), got.Ended)
		require.NotNil(t, got.Tally)

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

func ids[T any](rows []T, id func(T) string) []string {
	out := make([]string, len(rows))
	for i, r := range rows {
		out[i] = id(r)
	}
	return out
}

func jobs(t *testing.T, s store.Store) {
	update(t, s, func(tx store.Tx) {
		require.NoError(t, tx.PutJob(store.Job{Campaign: "C1", Index: 5, Failures: 1, Lost: 2, NotBefore: t0}))
		require.NoError(t, tx.PutJob(store.Job{Campaign: "C1", Index: 2}))
		require.NoError(t, tx.PutJob(store.Job{Campaign: "C2", Index: 1}))
		require.NoError(t, tx.PutJob(store.Job{Campaign: "C1", Index: 2, Failures: 2}))
		require.NoError(t, tx.DeleteJob("C1", 99))
	})
	want := []store.Job{{Campaign: "C1", Index: 2, Failures: 2}, {Campaign: "C1", Index: 5, Failures: 1, Lost: 2, NotBefore: t0.UTC()}}
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

func lease(id, runner, campaign string, index uint64, deadline time.Time) *store.Lease {
	return &store.Lease{
		ID: id, Runner: runner, Job: store.Job{Campaign: campaign, Index: index, Failures: 1, Lost: 2},
		Recipe: &misstepv1.Recipe{Seed: index, JvmFlags: []string{"-Xint"}}, Granted: t0, Deadline: deadline,
	}
}

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
		assert.Equal(t, []string{"L1", "L2"}, list(tx, store.LeaseFilter{Campaign: "C1"}))
		assert.Equal(t, []string{"L1"}, list(tx, store.LeaseFilter{Campaign: "C1", Runner: "r1"}))
		assert.Equal(t, []string{"L1", "L2"}, list(tx, store.LeaseFilter{ExpiredAt: t0.Add(2)}), "a deadline is the last moment that is too late")
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
		{Campaign: "C1", Index: 7, Recipe: &misstepv1.Recipe{Seed: 1}, Outcome: &misstepv1.Outcome{Reason: "r"}, FindingIDs: []string{"F1", "F2"}, Ended: t0},
		{Campaign: "C2", Index: 7, Recipe: &misstepv1.Recipe{}, Outcome: &misstepv1.Outcome{}, Ended: t0},
		{Campaign: "C1", Index: 3, Recipe: &misstepv1.Recipe{}, Failure: &misstepv1.InfrastructureFailure{Message: "m"}, Ended: t0},
		{Campaign: "C1", Index: 4, Recipe: &misstepv1.Recipe{}, Outcome: &misstepv1.Outcome{}, Ended: t0},
	}
	var got []uint64
	update(t, s, func(tx store.Tx) {
		for _, r := range rows {
			id, err := tx.AddTrial(r)
			require.NoError(t, err)
			got = append(got, id)
		}
	})
	assert.IsIncreasing(t, got)
	view(t, s, func(tx store.Tx) {
		list, err := tx.Trials("C1", 0, 100)
		require.NoError(t, err)
		require.Len(t, list, 3)
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
	first := &store.Trial{Campaign: "C1", Index: 7, Recipe: &misstepv1.Recipe{}, Outcome: &misstepv1.Outcome{Reason: "first"}, Ended: t0}
	update(t, s, func(tx store.Tx) {
		_, err := tx.AddTrial(first)
		require.NoError(t, err)
	})
	second := proto.CloneOf(first.Outcome)
	second.Reason = "second"
	err := s.Update(t.Context(), func(tx store.Tx) error {
		_, err := tx.AddTrial(&store.Trial{Campaign: "C1", Index: 7, Recipe: &misstepv1.Recipe{}, Outcome: second, Ended: t0})
		return err
	})
	require.ErrorIs(t, err, store.ErrExists)
	view(t, s, func(tx store.Tx) {
		list, err := tx.Trials("C1", 0, 10)
		require.NoError(t, err)
		require.Len(t, list, 1)
		assert.Equal(t, "first", list[0].Outcome.GetReason())
	})
}

func findings(t *testing.T, s store.Store) {
	f := func(id string, seen time.Time) *store.Finding {
		return &store.Finding{Proto: &misstepv1.Finding{Id: id, Title: "t", LastSeen: timestamppb.New(seen), Hits: 1, Example: &misstepv1.Outcome{}}, Weight: 12}
	}
	update(t, s, func(tx store.Tx) {
		for _, x := range []*store.Finding{f("Fa", t0), f("Fb", t0.Add(1)), f("Fc", t0)} {
			require.NoError(t, tx.PutFinding(x))
		}
	})
	view(t, s, func(tx store.Tx) {
		got, err := tx.Finding("Fa")
		require.NoError(t, err)
		equal(t, f("Fa", t0).Proto, got.Proto)
		assert.Equal(t, 12, got.Weight)
		_, err = tx.Finding("Fz")
		require.ErrorIs(t, err, store.ErrNotFound)
		all, err := tx.Findings()
		require.NoError(t, err)
		assert.Equal(t, []string{"Fb", "Fa", "Fc"}, ids(all, func(f *store.Finding) string { return f.Proto.GetId() }))
	})
	newer := f("Fc", t0.Add(time.Second))
	newer.Weight = 3
	update(t, s, func(tx store.Tx) { require.NoError(t, tx.PutFinding(newer)) })
	view(t, s, func(tx store.Tx) {
		all, err := tx.Findings()
		require.NoError(t, err)
		require.Len(t, all, 3)
		assert.Equal(t, "Fc", all[0].Proto.GetId())
		assert.Equal(t, 3, all[0].Weight)
	})
}

func countsAndHits(t *testing.T, s store.Store) {
	recipe := func(jdk string) *misstepv1.Recipe {
		return &misstepv1.Recipe{
			Jdk: &misstepv1.Jdk{Name: jdk}, Workload: &misstepv1.Workload{Name: "w"}, FlagSet: "f",
			Checks:          []*misstepv1.Check{{Name: "shadow-gst"}, {Name: "gst-asgct"}},
			Instrumentation: &misstepv1.Instrumentation{Ratio: 0.1}, Sampling: &misstepv1.Sampling{Interval: durationpb.New(time.Millisecond)},
		}
	}
	a := rates.Combination{
		Campaign: "C1", JDK: "17", Workload: "w", FlagSet: "f", Checks: "gst-asgct,shadow-gst", Perturbation: "none", Ratio: "0.1", Interval: "1ms",
	}
	b := a
	b.JDK = "25"
	none := &misstepv1.Outcome{Kind: misstepv1.OutcomeKind_OUTCOME_KIND_CLEAN}
	void := &misstepv1.Outcome{Kind: misstepv1.OutcomeKind_OUTCOME_KIND_VOID}
	update(t, s, func(tx store.Tx) {
		for i, trial := range []store.Trial{
			{Recipe: recipe("25"), Outcome: none},
			{Recipe: recipe("17"), Outcome: none},
			{Recipe: recipe("17"), Outcome: void},                                           // proves nothing
			{Recipe: recipe("17"), Outcome: void, FindingIDs: []string{"F1"}},               // but this one does
			{Recipe: recipe("17"), Outcome: none, FindingIDs: []string{"F1", "F2"}},         // one trial, two findings
			{Recipe: recipe("17"), Failure: &misstepv1.InfrastructureFailure{Message: "m"}}, // not the JVM's
			{Recipe: recipe("25"), Outcome: none, FindingIDs: []string{"F2"}},
		} {
			trial.Campaign, trial.Index, trial.Ended = "C1", uint64(i), t0
			_, err := tx.AddTrial(&trial)
			require.NoError(t, err)
		}
	})
	view(t, s, func(tx store.Tx) {
		counts, err := tx.Counts()
		require.NoError(t, err)
		assert.Equal(t, []rates.Count{{Combination: a, N: 3}, {Combination: b, N: 2}}, counts)
		for _, c := range []struct {
			of   []string
			want []rates.Count
		}{
			{[]string{"F1"}, []rates.Count{{Combination: a, N: 2}}},
			{[]string{"F2"}, []rates.Count{{Combination: a, N: 1}, {Combination: b, N: 1}}},
			{[]string{"F1", "F2", "F3"}, []rates.Count{{Combination: a, N: 2}, {Combination: b, N: 1}}},
		} {
			got, err := tx.Hits(c.of...)
			require.NoError(t, err)
			assert.Equal(t, c.want, got, c.of)
		}
		for _, of := range [][]string{{"F3"}, nil} {
			got, err := tx.Hits(of...)
			require.NoError(t, err)
			assert.Empty(t, got)
		}
	})
}

func decisions(t *testing.T, s store.Store) {
	update(t, s, func(tx store.Tx) {
		for i, kind := range []string{"merge", "split"} {
			id, err := tx.AddDecision(&misstepv1.TriageDecision{Id: 77, Kind: kind, Finding: "F1", Into: "F2", Made: timestamppb.New(t0)})
			require.NoError(t, err)
			assert.EqualValues(t, i+1, id)
		}
		require.ErrorIs(t, tx.PutDecision(&misstepv1.TriageDecision{Id: 3}), store.ErrNotFound)
	})
	undone := &misstepv1.TriageDecision{Id: 1, Kind: "merge", Finding: "F1", Into: "F2", Undone: timestamppb.New(t0)}
	update(t, s, func(tx store.Tx) { require.NoError(t, tx.PutDecision(undone)) })
	view(t, s, func(tx store.Tx) {
		all, err := tx.Decisions()
		require.NoError(t, err)
		require.Len(t, all, 2)
		equal(t, undone, all[0])
		assert.Equal(t, "split", all[1].GetKind())
		assert.EqualValues(t, 2, all[1].GetId())
	})
}

// fill writes a row of each kind; change writes over each of them and adds more.
func fill(t *testing.T, tx store.Tx) {
	require.NoError(t, tx.PutCampaign(campaign("C1", 0)))
	require.NoError(t, tx.PutJob(store.Job{Campaign: "C1", Index: 1}))
	require.NoError(t, tx.PutLease(lease("L1", "r1", "C1", 2, t0)))
	_, err := tx.AddTrial(&store.Trial{Campaign: "C1", Index: 3, Recipe: &misstepv1.Recipe{}, Outcome: &misstepv1.Outcome{}, FindingIDs: []string{"F1"}, Ended: t0})
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
	_, err := tx.AddTrial(&store.Trial{Campaign: "C1", Index: 4, Recipe: &misstepv1.Recipe{}, Outcome: &misstepv1.Outcome{}, FindingIDs: []string{"F1"}, Ended: t0})
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
	// What was taken back can be done again.
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
	mine.Tally.Outcomes["clean"] = 50
	view(t, s, func(tx store.Tx) {
		got, err := tx.Campaign("C1")
		require.NoError(t, err)
		assert.Equal(t, "name-C1", got.Submission.GetCampaign().GetName())
		got.Submission.Campaign.Name = "changed"
		got.Tally.Outcomes["clean"] = 50
		again, err := tx.Campaign("C1")
		require.NoError(t, err)
		assert.Equal(t, "name-C1", again.Submission.GetCampaign().GetName())
		assert.EqualValues(t, 2, again.Tally.GetOutcomes()["clean"])
	})
}

func serial(t *testing.T, s store.Store) {
	update(t, s, func(tx store.Tx) {
		c := campaign("C1", 0)
		c.Next = 0
		require.NoError(t, tx.PutCampaign(c))
	})
	const writers, times = 8, 10
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
			Id: id, State: state, Started: timestamppb.New(t0.Add(-age)), Spec: &misstepv1.ReproductionSpec{FindingId: "F1", Seed: 1<<64 - 1},
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
