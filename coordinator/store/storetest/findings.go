package storetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"misstep/coordinator/rates"
	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
)

func findings(t *testing.T, s store.Store) {
	f := func(id string, seen time.Time) *store.Finding {
		p := &misstepv1.Finding{Id: id, Title: "t", LastSeen: timestamppb.New(seen), Hits: 1, Example: &misstepv1.Outcome{}}
		return &store.Finding{Proto: p, Weight: 12}
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
	profilers := map[string]*misstepv1.Profiler{
		"17": {
			Name: recipe.ProfilerJFR, Interval: durationpb.New(time.Millisecond),
			Options: []string{"jdk.ThreadPark#enabled=false"},
		},
	}
	recipe := func(jdk string) *misstepv1.Recipe {
		return &misstepv1.Recipe{
			Jdk: &misstepv1.Jdk{Name: jdk}, Workload: &misstepv1.Workload{Name: "w"}, FlagSet: "f",
			Checks:          []*misstepv1.Check{{Name: recipe.ShadowGst}, {Name: recipe.GstAsgct}},
			Instrumentation: &misstepv1.Instrumentation{Ratio: 0.1},
			Sampling:        &misstepv1.Sampling{Interval: durationpb.New(time.Millisecond)},
			Profiler:        profilers[jdk],
		}
	}
	a := rates.Combination{
		Campaign: "C1", JDK: "17", Workload: "w", FlagSet: "f", Checks: "gst-asgct,shadow-gst", Perturbation: "none",
		Ratio: "0.1", Interval: "1ms", Profiler: "jfr,1ms,jdk.ThreadPark#enabled=false",
	}
	b := a
	b.JDK, b.Profiler = "25", "none"
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
			require.NoError(t, tx.AddTrial(&trial))
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
		shown, err := tx.Shown()
		require.NoError(t, err)
		assert.ElementsMatch(t, []rates.Shown{
			{Count: rates.Count{Combination: a, N: 1}, Findings: []string{"F1"}},
			{Count: rates.Count{Combination: a, N: 1}, Findings: []string{"F1", "F2"}},
			{Count: rates.Count{Combination: b, N: 1}, Findings: []string{"F2"}},
		}, shown)
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
			id, err := tx.AddDecision(&misstepv1.TriageDecision{
				Id: 77, Kind: kind, Finding: "F1", Into: "F2", Made: timestamppb.New(t0),
			})
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

func workerState(t *testing.T, s store.Store) {
	mine := []byte("first")
	update(t, s, func(tx store.Tx) {
		require.NoError(t, tx.PutWorkerState("a", []byte("older")))
		require.NoError(t, tx.PutWorkerState("a", mine))
		require.NoError(t, tx.PutWorkerState("b", []byte("other")))
	})
	mine[0] = '-'
	require.Error(t, s.View(t.Context(), func(tx store.Tx) error { return tx.PutWorkerState("a", nil) }))
	for range 2 {
		view(t, s, func(tx store.Tx) {
			got, err := tx.WorkerState("a")
			require.NoError(t, err)
			assert.Equal(t, "first", string(got))
			got[0] = '-'
			none, err := tx.WorkerState("c")
			require.NoError(t, err)
			assert.Nil(t, none)
		})
	}
}
