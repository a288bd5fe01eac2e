package sqlite

import (
	"database/sql"
	"io/fs"
	"path/filepath"
	"testing"

	"github.com/pressly/goose/v3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"misstep/coordinator/rates"
	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
)

// A store of the first version gets the same rates as a new one with the same trials.
func TestTrialsOfTheFirstVersion(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	dir, err := fs.Sub(migrations, "migrations")
	require.NoError(t, err)
	p, err := goose.NewProvider(goose.DialectSQLite3, db, dir, goose.WithDisableGlobalRegistry(true))
	require.NoError(t, err)
	_, err = p.UpTo(t.Context(), 1)
	require.NoError(t, err)
	recipe := &misstepv1.Recipe{
		Jdk: &misstepv1.Jdk{Name: "25"}, FlagSet: "f", Instrumentation: &misstepv1.Instrumentation{Ratio: 0.5},
	}
	blob := func(m proto.Message) []byte {
		raw, err := proto.Marshal(m)
		require.NoError(t, err)
		return raw
	}
	const n = 250 // more than a page of the migration
	for i := range n {
		findings, outcome := "", &misstepv1.Outcome{Kind: misstepv1.OutcomeKind_OUTCOME_KIND_CLEAN}
		switch i % 5 {
		case 1:
			findings = "F1,F2"
		case 2:
			outcome.Kind = misstepv1.OutcomeKind_OUTCOME_KIND_VOID
		}
		_,
			err = db.Exec("INSERT INTO trials (campaign, idx, recipe, outcome, findings, ended) VALUES ('C1',?,?,?,?,0)", i,
			blob(recipe), blob(outcome), findings)
		require.NoError(t, err)
	}
	for i := range 5 {
		_, err = db.Exec("INSERT INTO jobs (campaign, idx, failures, lost, not_before) VALUES ('C1',?,0,0,0)", n+i)
		require.NoError(t, err)
		_, err = db.Exec("INSERT INTO leases (id, runner, campaign, idx, failures, lost, recipe, granted, deadline) "+
			"VALUES (?,'r','C2',?,0,0,?,0,0)", i, i, blob(recipe))
		require.NoError(t, err)
	}
	require.NoError(t, db.Close())

	s, err := Open(t.Context(), path)
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	require.NoError(t, s.View(t.Context(), func(tx store.Tx) error {
		c := rates.CombinationOf("C1", recipe)
		counts, err := tx.Counts()
		require.NoError(t, err)
		assert.Equal(t, []rates.Count{{Combination: c, N: n * 4 / 5}}, counts)
		hits, err := tx.Hits("F1", "F2")
		require.NoError(t, err)
		assert.Equal(t, []rates.Count{{Combination: c, N: n / 5}}, hits)
		jobs, err := tx.CountJobs("C1")
		require.NoError(t, err)
		leases, err := tx.CountLeases("C2")
		require.NoError(t, err)
		assert.Equal(t, []uint64{5, 5}, []uint64{jobs, leases})
		return nil
	}))
}
