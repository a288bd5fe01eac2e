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

// The counts of adjacent spans add up to Counts; a void trial counts in none.
func spans(t *testing.T, s store.Store) {
	clean := &misstepv1.Outcome{Kind: misstepv1.OutcomeKind_OUTCOME_KIND_CLEAN}
	void := &misstepv1.Outcome{Kind: misstepv1.OutcomeKind_OUTCOME_KIND_VOID}
	update(t, s, func(tx store.Tx) {
		for i, row := range []struct {
			jdk     string
			outcome *misstepv1.Outcome
			shows   []string
		}{
			{"17", clean, []string{"F1"}},
			{"25", clean, nil},
			{"17", clean, []string{"F1", "F2"}},
			{"17", void, nil},
			{"25", clean, []string{"F2"}},
			{"17", clean, nil},
		} {
			err := tx.AddTrial(&store.Trial{
				Campaign: "C1", Index: uint64(i), Ended: t0.Add(time.Duration(i)), Outcome: row.outcome, FindingIDs: row.shows,
				Recipe: &misstepv1.Recipe{Jdk: &misstepv1.Jdk{Name: row.jdk}},
			})
			require.NoError(t, err)
		}
	})
	view(t, s, func(tx store.Tx) {
		sums := func(after, upTo uint64) map[string]uint64 {
			counts, err := tx.CountsBetween([]uint64{after, upTo})
			require.NoError(t, err)
			require.Len(t, counts, 1)
			out := map[string]uint64{}
			for _, c := range counts[0] {
				out[c.JDK] += c.N
			}
			return out
		}
		assert.Equal(t, map[string]uint64{"17": 2, "25": 1}, sums(0, 3))
		assert.Equal(t, map[string]uint64{"17": 1, "25": 1}, sums(3, 100))
		assert.Empty(t, sums(3, 3))
		all, err := tx.Counts()
		require.NoError(t, err)
		got, err := tx.CountsBetween([]uint64{0, 3, 3, 100})
		require.NoError(t, err)
		require.Len(t, got, 3)
		assert.Empty(t, got[1])
		got, err = tx.CountsBetween([]uint64{0, 100})
		require.NoError(t, err)
		assert.Equal(t, [][]rates.Count{all}, got)

		last, err := tx.LastHits()
		require.NoError(t, err)
		assert.Equal(t, []rates.Last{
			{Finding: "F1", JDK: "17", Trial: 3, Ended: t0.Add(time.Duration(2)).UTC()},
			{Finding: "F2", JDK: "17", Trial: 3, Ended: t0.Add(time.Duration(2)).UTC()},
			{Finding: "F2", JDK: "25", Trial: 5, Ended: t0.Add(time.Duration(4)).UTC()},
		}, last)
	})
}
