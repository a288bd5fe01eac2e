package stores_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/coordinator/store"
	"misstep/coordinator/store/memory"
	"misstep/coordinator/store/stores"
)

// A store that has a part of another one is opened by the next copy only.
func TestAnIncompleteStoreIsRefused(t *testing.T) {
	dir := t.TempDir()
	mark := func(text string) {
		s, err := stores.OpenTarget(t.Context(), dir, slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		require.NoError(t, s.Update(t.Context(), func(tx store.Tx) error {
			return tx.(store.PropertyRows).PutProperty(store.PropertyIncomplete, text)
		}))
		require.NoError(t, s.Close())
	}
	mark("copy of X, begun at 1970")
	_, err := stores.Open(t.Context(), dir)
	require.ErrorContains(t, err, "it is an incomplete copy of X, begun at 1970")
	require.ErrorContains(t, err, dir)
	require.ErrorContains(t, err, "misstep store copy")
	mark("")
	s, err := stores.Open(t.Context(), dir)
	require.NoError(t, err)
	require.NoError(t, s.Close())
}

func TestAFolderThatIsBeingRestoredIsRefused(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(stores.RestoringFile(dir), []byte("/backup\n"), 0o644))
	_, err := stores.Open(t.Context(), dir)
	require.ErrorContains(t, err, "`misstep store restore /backup "+dir+"` again")
	assert.NoFileExists(t, filepath.Join(dir, "store.db"))
}

// Each store has an identity of its own, which stays; one in memory has none.
func TestIdentity(t *testing.T) {
	id := func(dir string) string {
		s, err := stores.Open(t.Context(), dir)
		require.NoError(t, err)
		defer func() { require.NoError(t, s.Close()) }()
		text, err := stores.Property(t.Context(), s, store.PropertyID)
		require.NoError(t, err)
		return text
	}
	dir := t.TempDir()
	assert.Regexp(t, "^[0-9a-f]{16}$", id(dir))
	first := id(dir)
	assert.Equal(t, first, id(dir), "opened again")
	assert.NotEqual(t, id(dir), id(t.TempDir()))
	text, err := stores.Property(t.Context(), memory.New(), store.PropertyID)
	require.NoError(t, err)
	assert.Empty(t, text)
}
