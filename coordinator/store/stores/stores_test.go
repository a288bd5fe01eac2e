package stores_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"misstep/coordinator/store"
	"misstep/coordinator/store/memory"
	"misstep/coordinator/store/sqlite"
	"misstep/coordinator/store/stores"
	misstepv1 "misstep/proto/misstep/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "other.db")
	for _, c := range []struct {
		url  string
		kind store.Store
		file string // that is there afterwards
	}{
		{"memory:", (*memory.Store)(nil), ""},
		{"sqlite:" + file, (*sqlite.Store)(nil), file},
		{file, (*sqlite.Store)(nil), file},
		{dir, (*sqlite.Store)(nil), filepath.Join(dir, "store.db")},
		{filepath.Join(dir, "new", "folder"), (*sqlite.Store)(nil), filepath.Join(dir, "new", "folder", "store.db")},
		{dir + "/a:b", (*sqlite.Store)(nil), dir + "/a:b/store.db"},
	} {
		s, err := stores.Open(t.Context(), c.url)
		require.NoError(t, err, c.url)
		assert.IsType(t, c.kind, s, c.url)
		require.NoError(t, s.Close())
		if c.file != "" {
			assert.FileExists(t, c.file)
		}
	}
}

func TestOpenFails(t *testing.T) {
	garbage := filepath.Join(t.TempDir(), "garbage")
	require.NoError(t, os.WriteFile(garbage, []byte("this is not a database, however long one looks at it"), 0o600))
	for url, want := range map[string]string{
		"mysql://host/misstep":        `"mysql" are not supported; supported are memory:, postgres://USER@HOST/DATABASE, sqlite:`,
		"postgres://127.0.0.1:1/none": "start the server",
		"memory:name":                 "expected nothing after memory:",
		"sqlite:":                     "expected the path of a database file",
		"":                            "expected a URL or path",
		garbage:                       "not a database",
	} {
		s, err := stores.Open(t.Context(), url)
		require.ErrorContains(t, err, want)
		assert.Nil(t, s, "no nil of a concrete type either")
	}
}

// What Create made is found, is empty, and keeps its rows when it is created again.
func TestCreate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "hunt")
	require.ErrorIs(t, stores.InFolder(dir), fs.ErrNotExist)
	for range 2 {
		require.NoError(t, stores.Create(t.Context(), dir))
		require.NoError(t, stores.InFolder(dir))
		s, err := stores.Open(t.Context(), dir)
		require.NoError(t, err)
		require.NoError(t, s.Update(t.Context(), func(tx store.Tx) error {
			_, err := tx.AddDecision(&misstepv1.TriageDecision{Kind: "merge"})
			return err
		}))
		require.NoError(t, s.Close())
	}
	s, err := stores.Open(t.Context(), dir)
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	require.NoError(t, s.View(t.Context(), func(tx store.Tx) error {
		all, err := tx.Decisions()
		assert.Len(t, all, 2)
		return err
	}))
}

func TestPasswords(t *testing.T) {
	for url, want := range map[string]string{
		"postgres://u:secret@h:1/d":            "postgres://u:xxxxx@h:1/d",
		"postgres://u:@h/d":                    "postgres://u:xxxxx@h/d",
		"postgres://h/d?a=b&password=secret&c": "postgres://h/d?a=b&password=xxxxx&c",
		"postgresql://:secret@h":               "postgresql://:xxxxx@h",
		"mysql://u:secret@h":                   "mysql://u:xxxxx@h",
	} {
		assert.Equal(t, want, stores.Redacted(url))
		assert.True(t, stores.HasPassword(url))
		_, err := stores.Open(t.Context(), url)
		require.Error(t, err)
		assert.NotContains(t, err.Error(), "secret")
	}
	for _, url := range []string{"postgres://u@h:1/d", "postgres:///d?host=/run", "sqlite:a@b", "dir/x:y@z"} {
		assert.Equal(t, url, stores.Redacted(url))
		assert.False(t, stores.HasPassword(url))
	}
}
