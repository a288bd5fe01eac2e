package storetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/coordinator/rates"
	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
)

func knownBugs(t *testing.T, s store.Store) {
	bug := func(id, note string) *misstepv1.KnownBug {
		return &misstepv1.KnownBug{
			Id: id, Note: note, Matches: []*misstepv1.KnownMatch{{Kind: "crash", Parts: []string{"*", "frame: V f*"}}},
		}
	}
	update(t, s, func(tx store.Tx) {
		for _, b := range []*misstepv1.KnownBug{bug("P-2", "first"), bug("P-1", ""), bug("P-3", ""), bug("P-2", "second")} {
			require.NoError(t, tx.PutKnownBug(b))
		}
		require.NoError(t, tx.DeleteKnownBug("P-3"))
		require.NoError(t, tx.DeleteKnownBug("P-4"))
	})
	view(t, s, func(tx store.Tx) {
		all, err := tx.KnownBugs()
		require.NoError(t, err)
		require.Len(t, all, 2)
		equal(t, bug("P-1", ""), all[0])
		equal(t, bug("P-2", "second"), all[1])
		require.Error(t, tx.PutKnownBug(bug("P-5", "")))
	})
}

// The log has the trials that count, by combination, and those of them that showed something; a void trial is in none.
func trialLog(t *testing.T, s store.Store) {
	view(t, s, func(tx store.Tx) {
		l, err := tx.Log()
		require.NoError(t, err)
		assert.Empty(t, l.Tallies)
		assert.Empty(t, l.Hits)
	})
	clean := &misstepv1.Outcome{Kind: misstepv1.OutcomeKind_OUTCOME_KIND_CLEAN}
	void := &misstepv1.Outcome{Kind: misstepv1.OutcomeKind_OUTCOME_KIND_VOID}
	rows := []struct {
		jdk     string
		outcome *misstepv1.Outcome
		shows   []string
	}{
		{"25", clean, []string{"F1"}},
		{"17", clean, nil},
		{"25", clean, []string{"F2", "F1"}},
		{"25", void, nil},
		{"17", clean, []string{"F2"}},
		{"25", clean, nil},
	}
	add := func(from, to int) {
		update(t, s, func(tx store.Tx) {
			for i, row := range rows[from:to] {
				require.NoError(t, tx.AddTrial(&store.Trial{
					Campaign: "C1", Index: uint64(from + i), Ended: t0.Add(time.Duration(from + i)), Outcome: row.outcome,
					FindingIDs: row.shows, Recipe: &misstepv1.Recipe{Jdk: &misstepv1.Jdk{Name: row.jdk}},
				}))
			}
		})
	}
	add(0, 2)
	view(t, s, func(tx store.Tx) {
		l, err := tx.Log()
		require.NoError(t, err)
		require.Len(t, l.Tallies, 2)
		assert.Equal(t, rates.Tally{Combination: l.Tallies[0].Combination, Trials: []uint32{2}}, l.Tallies[0])
		assert.Equal(t, []rates.Hit{{Trial: 1, Ended: t0.UTC(), Tally: 1, Findings: []string{"F1"}}}, l.Hits)
	})
	add(2, len(rows))
	view(t, s, func(tx store.Tx) {
		l, err := tx.Log()
		require.NoError(t, err)
		require.Len(t, l.Tallies, 2, "ordered by combination")
		assert.Equal(t, "17", l.Tallies[0].JDK)
		assert.Equal(t, []uint32{2, 5}, l.Tallies[0].Trials)
		assert.Equal(t, "25", l.Tallies[1].JDK)
		assert.Equal(t, []uint32{1, 3, 6}, l.Tallies[1].Trials)
		assert.Equal(t, []rates.Hit{
			{Trial: 1, Ended: t0.UTC(), Tally: 1, Findings: []string{"F1"}},
			{Trial: 3, Ended: t0.Add(2).UTC(), Tally: 1, Findings: []string{"F1", "F2"}},
			{Trial: 5, Ended: t0.Add(4).UTC(), Tally: 0, Findings: []string{"F2"}},
		}, l.Hits)
		counts, err := tx.Counts()
		require.NoError(t, err)
		for i, c := range counts {
			assert.Equal(t, rates.Count{Combination: l.Tallies[i].Combination, N: l.Tallies[i].N()}, c)
		}
	})
}
