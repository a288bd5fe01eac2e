package postgres

import (
	"fmt"
	"io/fs"
	"log/slog"
	"testing"

	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"misstep/coordinator/rates"
	"misstep/coordinator/store"
	"misstep/internal/testenv/pgtest"
	misstepv1 "misstep/proto/misstep/v1"
)

// A database of the first version has the same rates, hits and numbers after its migration as a new one with the same rows, and
// every row is read as it was written.
func TestRowsOfTheFirstVersion(t *testing.T) {
	url := pgtest.Database(t)
	config, err := configure(url)
	require.NoError(t, err)
	db := stdlib.OpenDB(*config)
	dir, err := fs.Sub(migrations, "migrations")
	require.NoError(t, err)
	p, err := goose.NewProvider(goose.DialectPostgres, db, dir, goose.WithDisableGlobalRegistry(true))
	require.NoError(t, err)
	_, err = p.UpTo(t.Context(), 1)
	require.NoError(t, err)

	blob := func(m proto.Message) []byte {
		raw, err := proto.Marshal(m)
		require.NoError(t, err)
		return raw
	}
	recipes := []*misstepv1.Recipe{
		{Jdk: &misstepv1.Jdk{Name: "25"}, FlagSet: "f", Instrumentation: &misstepv1.Instrumentation{Ratio: 0.5}, Seed: 7},
		{Jdk: &misstepv1.Jdk{Name: "17"}, Workload: &misstepv1.Workload{Name: "w"}, JvmFlags: []string{"-Xint"}},
	}
	const n = 9000 // the ids of more than two spans
	tx, err := db.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	for i := range n {
		c := rates.CombinationOf("C1", recipes[i%2])
		outcome, counts := &misstepv1.Outcome{Kind: misstepv1.OutcomeKind_OUTCOME_KIND_CLEAN}, true
		var shown []string
		findings := ""
		switch i % 5 {
		case 1:
			findings, shown = "F2,F1", []string{"F2", "F1"}
		case 2:
			outcome.Kind, counts = misstepv1.OutcomeKind_OUTCOME_KIND_VOID, false
		}
		var id int64
		require.NoError(t, tx.QueryRowContext(t.Context(), `INSERT INTO trials (campaign, idx, recipe, outcome, findings, ended, counts,
			jdk, workload, flag_set, checks, perturbation, ratio, interval, profiler)
			VALUES ('C1',$1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14) RETURNING id`, i, blob(recipes[i%2]), blob(outcome), findings,
			1000+i, counts, c.JDK, c.Workload, c.FlagSet, c.Checks, c.Perturbation, c.Ratio, c.Interval, c.Profiler).Scan(&id))
		for _, f := range shown {
			_, err := tx.ExecContext(t.Context(), "INSERT INTO shown (finding, trial) VALUES ($1,$2)", f, id)
			require.NoError(t, err)
		}
	}
	for i := range 7 {
		_, err := tx.ExecContext(t.Context(), "INSERT INTO jobs (campaign, idx, failures, lost, not_before) VALUES ('C1',$1,0,0,0)",
			n+i)
		require.NoError(t, err)
	}
	for i := range 3 {
		_, err := tx.ExecContext(t.Context(), `INSERT INTO leases (id, runner, campaign, idx, failures, lost, recipe, granted, deadline)
			VALUES ($1,'r','C1',$2,0,0,$3,0,0)`, fmt.Sprint("L", i), 2*n+i, blob(recipes[0]))
		require.NoError(t, err)
	}
	require.NoError(t, tx.Commit())
	require.NoError(t, db.Close())

	s, err := Open(t.Context(), url, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	fresh, err := Open(t.Context(), pgtest.Database(t), slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	defer func() { require.NoError(t, fresh.Close()) }()
	require.NoError(t, s.View(t.Context(), func(old store.Tx) error {
		rows, err := old.Trials("C1", 0, n+1)
		require.NoError(t, err)
		require.Len(t, rows, n)
		for i, row := range rows[:10] {
			assert.True(t, proto.Equal(recipes[i%2], row.Recipe), row.Recipe)
		}
		assert.Equal(t, []string{"F2", "F1"}, rows[1].FindingIDs)
		require.NoError(t, fresh.Update(t.Context(), func(tx store.Tx) error { return tx.(store.Bulk).AddTrials(rows) }))
		require.NoError(t, fresh.View(t.Context(), func(want store.Tx) error {
			for name, read := range map[string]func(store.Tx) (any, error){
				"counts":      func(tx store.Tx) (any, error) { return tx.Counts() },
				"hits of one": func(tx store.Tx) (any, error) { return tx.Hits("F1") },
				"hits of two": func(tx store.Tx) (any, error) { return tx.Hits("F1", "F2") },
				"log":         func(tx store.Tx) (any, error) { return tx.Log() },
			} {
				a, err := read(want)
				require.NoError(t, err)
				b, err := read(old)
				require.NoError(t, err)
				assert.NotEmpty(t, b, name)
				assert.Equal(t, a, b, name)
			}
			a, err := want.Shown()
			require.NoError(t, err)
			b, err := old.Shown()
			require.NoError(t, err)
			assert.ElementsMatch(t, a, b)
			return nil
		}))
		jobs, err := old.CountJobs("C1")
		require.NoError(t, err)
		leases, err := old.CountLeases("C1")
		assert.Equal(t, []uint64{7, 3}, []uint64{jobs, leases})
		return err
	}))
}
