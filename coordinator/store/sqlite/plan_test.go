package sqlite

import (
	"database/sql"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
)

// bounded are the steps of statements that look at no more rows than they return or change, however many a table has. Tables of
// campaigns, of recipes and of combinations are as large as what users ask for. SQLite would look for hits of a new trial (shown)
// only if one violated its foreign key.
var bounded = regexp.MustCompile(`^(` + strings.Join([]string{
	`SEARCH (jobs|leases|trials|queued|combination_counts|shown_counts) USING .*(INDEX|KEY)\b.*`,
	`(SEARCH|SCAN) (campaigns|recipes|combinations)\b.*`,
	`SCAN (shown|v)`, `SCAN (CONSTANT ROW|\d+ CONSTANT ROWS|\d+-ROW VALUES CLAUSE)`, `(CO-ROUTINE|MATERIALIZE) v`,
	`SCALAR SUBQUERY \d+`, `USE TEMP B-TREE FOR (LAST TERM OF )?ORDER BY`,
}, "|") + `)$`)

// What a call asks of the store does not depend on the number of jobs, leases and trials: every statement finds its rows by an
// index.
func TestPlansOfCallsAreBounded(t *testing.T) {
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "store.db"))
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	at := time.Unix(1, 0)
	// What Synchronize does, in the words of the store.
	require.NoError(t, s.Update(t.Context(), func(tx store.Tx) error {
		recipe := &misstepv1.Recipe{Seed: 1, Jdk: &misstepv1.Jdk{Name: "17"}}
		b := tx.(store.Bulk)
		for _, do := range []func() error{
			func() error {
				return tx.PutCampaign(&store.Campaign{
					ID: "C", Submission: &misstepv1.SubmitCampaignRequest{}, Tally: &misstepv1.CampaignStatus{},
				})
			},
			func() error { _, err := tx.Leases(store.LeaseFilter{Runners: []string{"r", "s"}}); return err },
			func() error { _, err := tx.Leases(store.LeaseFilter{Runner: "r"}); return err },
			func() error { _, err := tx.Leases(store.LeaseFilter{ExpiredAt: at, Limit: 9}); return err },
			func() error { return tx.ExtendLeases(at) },
			func() error { _, err := tx.Campaigns(true); return err },
			func() error { _, err := tx.CountLeases("C"); return err },
			func() error { _, err := tx.CountJobs("C"); return err },
			func() error { return tx.PutJob(store.Job{Campaign: "C", Index: 1, NotBefore: at}) },
			func() error {
				_, err := tx.ReadyJobs(store.ReadyFilter{Campaign: "C", Capabilities: []string{"vm"}, At: at, Limit: 9})
				return err
			},
			func() error { return tx.DeleteJob("C", 1) },
			func() error { return b.AddJobs([]store.Job{{Campaign: "C", Index: 3}, {Campaign: "C", Index: 4}}) },
			func() error { return b.DeleteJobs("C", []uint64{3, 4}) },
			func() error { return tx.PutLease(&store.Lease{ID: "L", Runner: "r", Recipe: recipe}) },
			func() error {
				return b.AddLeases([]*store.Lease{{ID: "M", Runner: "r", Job: store.Job{Campaign: "C", Index: 2}, Recipe: recipe}})
			},
			func() error { return b.RenewLeases([]*store.Lease{{ID: "L", Deadline: at}, {ID: "M", Deadline: at}}) },
			func() error { _, err := tx.Lease("L"); return err },
			func() error { return b.DeleteLeases([]string{"L"}) },
			func() error {
				return b.AddTrials([]*store.Trial{{
					Campaign: "C", Index: 1, Recipe: recipe, Outcome: &misstepv1.Outcome{}, FindingIDs: []string{"F"},
				}})
			},
		} {
			if err := do(); err != nil {
				return err
			}
		}
		return nil
	}))
	w := <-s.writer
	defer func() { s.writer <- w }()
	seen := map[string]bool{}
	for query := range w.prepared {
		if !regexp.MustCompile(`^(SELECT|UPDATE|DELETE|INSERT)`).MatchString(query) {
			continue
		}
		for _, step := range plan(t, w.conn, query) {
			assert.Regexp(t, bounded, step, query)
			seen[step] = true
		}
	}
	assert.Greater(t, len(seen), 8, "%v", seen)
	assert.Contains(t, seen, "SEARCH jobs USING INDEX jobs_ready (campaign=? AND needs=? AND waits=? AND idx>?)")
	assert.NotRegexp(t, bounded, strings.Join(plan(t, w.conn, "SELECT count(*) FROM jobs"), ""), "the test can fail")
}

func plan(t *testing.T, conn *sql.Conn, query string) (steps []string) {
	t.Helper()
	args := make([]any, strings.Count(query, "?"))
	rows, err := conn.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+query, args...)
	require.NoError(t, err, query)
	defer rows.Close()
	for rows.Next() {
		var id, parent, unused int
		var step string
		require.NoError(t, rows.Scan(&id, &parent, &unused, &step))
		steps = append(steps, step)
	}
	require.NoError(t, rows.Err())
	return steps
}
