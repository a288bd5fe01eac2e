package sqlite

import (
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"misstep/coordinator/rates"
	"misstep/coordinator/store"
	"misstep/coordinator/store/sqlrows"
	misstepv1 "misstep/proto/misstep/v1"
)

// recount counts trials by reading them.
func recount(t *testing.T, db *sql.DB, where string, args ...any) []rates.Count {
	t.Helper()
	columns := sqlrows.CombinationColumns
	rows, err := db.Query("SELECT "+columns+", count(*) FROM (SELECT trials.id AS trial, combination FROM trials "+
		"WHERE counts) JOIN combinations ON combinations.id = combination WHERE "+where+" GROUP BY "+columns+
		" ORDER BY "+columns, args...)
	require.NoError(t, err)
	defer rows.Close()
	out := []rates.Count{}
	for rows.Next() {
		var c rates.Count
		require.NoError(t, rows.Scan(&c.Campaign, &c.JDK, &c.Workload, &c.FlagSet, &c.Checks, &c.Perturbation, &c.Ratio,
			&c.Interval, &c.Profiler, &c.N))
		out = append(out, c)
	}
	require.NoError(t, rows.Err())
	return out
}

// What is counted as results come in is what the trials say, across the bounds of spans.
func TestCountsAgreeWithTheTrials(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	s, err := Open(t.Context(), path)
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	defer db.Close()
	next := uint64(0)
	rapid.Check(t, func(rt *rapid.T) {
		// Close to the bound of a span, further than the last time.
		require.NoError(t, s.Update(t.Context(), func(store.Tx) error { return nil }))
		_, err := db.Exec("UPDATE sqlite_sequence SET seq = (seq / ? + 1) * ? - ? WHERE name = 'trials'", sqlrows.SpanSize,
			sqlrows.SpanSize, rapid.IntRange(1, 20).Draw(rt, "before"))
		require.NoError(t, err)
		for range rapid.IntRange(1, 3).Draw(rt, "transactions") {
			var trials []*store.Trial
			for range rapid.IntRange(0, 30).Draw(rt, "trials") {
				next++
				kind := rapid.SampledFrom([]misstepv1.OutcomeKind{
					misstepv1.OutcomeKind_OUTCOME_KIND_CLEAN, misstepv1.OutcomeKind_OUTCOME_KIND_VOID,
				}).Draw(rt, "kind")
				shows := rapid.SliceOfN(rapid.SampledFrom([]string{"F1", "F2", "F3"}), 0, 2).Draw(rt, "shows")
				trials = append(trials, &store.Trial{
					Campaign: rapid.SampledFrom([]string{"C1", "C2"}).Draw(rt, "campaign"), Index: next, Ended: time.Unix(int64(next), 0),
					Recipe:     &misstepv1.Recipe{Jdk: &misstepv1.Jdk{Name: rapid.SampledFrom([]string{"17", "21"}).Draw(rt, "jdk")}},
					Outcome:    &misstepv1.Outcome{Kind: kind},
					FindingIDs: shows,
				})
			}
			require.NoError(t, s.Update(t.Context(), func(tx store.Tx) error { return tx.(store.Bulk).AddTrials(trials) }))
		}
		var last uint64
		require.NoError(t, db.QueryRow("SELECT coalesce(max(id), 0) FROM trials").Scan(&last))
		upTo := rapid.Uint64Range(0, last+2).Draw(rt, "up to")
		require.NoError(t, s.View(t.Context(), func(tx store.Tx) error {
			counts, err := tx.Counts()
			require.NoError(t, err)
			assert.Equal(t, recount(t, db, "TRUE"), counts)
			log, err := tx.Log()
			require.NoError(t, err)
			var until []rates.Count
			for _, tally := range log.Tallies {
				if n := tally.Until(upTo); n > 0 {
					until = append(until, rates.Count{Combination: tally.Combination, N: n})
				}
			}
			assert.ElementsMatch(t, recount(t, db, "trial <= ?", int64(upTo)), until, upTo)
			for _, of := range [][]string{{"F1"}, {"F2", "F3"}, {"F9"}} {
				hits, err := tx.Hits(of...)
				require.NoError(t, err)
				assert.Equal(t, recount(t, db, "trial IN (SELECT trial FROM shown WHERE finding IN (?, ?))", of[0],
					of[len(of)-1]), hits)
			}
			shows := 0
			for _, h := range log.Hits {
				shows += len(h.Findings)
			}
			var want int
			require.NoError(t, db.QueryRow("SELECT count(*) FROM shown JOIN trials ON trials.id = trial WHERE counts").Scan(&want))
			assert.Equal(t, want, shows)
			return nil
		}))
	})
}
