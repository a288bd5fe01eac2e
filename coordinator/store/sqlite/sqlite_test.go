package sqlite_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/sync/errgroup"

	"misstep/coordinator/store"
	"misstep/coordinator/store/sqlite"
	"misstep/coordinator/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t testing.TB, path string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path)
	require.NoError(t, err)
	return s
}

func TestStore(t *testing.T) {
	paths := map[store.Store]string{}
	storetest.Run(t, func(t *testing.T) store.Store {
		path := filepath.Join(t.TempDir(), "store.db")
		s := open(t, path)
		paths[s] = path
		return s
	}, storetest.Options{Reopen: func(t *testing.T, s store.Store) store.Store { return open(t, paths[s]) }})
}

func BenchmarkStore(b *testing.B) {
	storetest.Benchmark(b, func(b *testing.B) store.Store { return open(b, filepath.Join(b.TempDir(), "store.db")) })
}

// The file's name is chosen by the user: characters that are special in a URL must not change it.
func TestOpenOddPath(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a b.db", "a?mode=ro.db", "a#b.db", "a%20b.db", "ä.db"} {
		s := open(t, filepath.Join(dir, name))
		require.NoError(t, s.Close())
		_, err := os.Stat(filepath.Join(dir, name))
		assert.NoError(t, err)
	}
}

// A new store that several open at once, as a hunt and a command that looks at it do, is made by one of them.
func TestOpenedAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	var all errgroup.Group
	for range 8 {
		all.Go(func() error {
			s, err := sqlite.Open(t.Context(), path)
			if err != nil {
				return err
			}
			return s.Close()
		})
	}
	require.NoError(t, all.Wait())
}

func TestOpenFails(t *testing.T) {
	dir := t.TempDir()
	garbage := filepath.Join(dir, "garbage.db")
	require.NoError(t, os.WriteFile(garbage, []byte("this is not a database, however long one looks at it"), 0o600))
	newer := filepath.Join(dir, "newer.db")
	require.NoError(t, open(t, newer).Close())
	db, err := sql.Open("sqlite", newer)
	require.NoError(t, err)
	_, err = db.Exec("INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, 1)")
	require.NoError(t, err)
	require.NoError(t, db.Close())
	for path, want := range map[string]string{
		garbage:                            "not a database",
		filepath.Join(dir, "none", "x.db"): "unable to open",
		newer:                              "its schema has version 9999",
	} {
		_, err := sqlite.Open(t.Context(), path)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, path)
	}
}
