package batch_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"misstep/coordinator/store"
	"misstep/coordinator/store/batch"
	"misstep/coordinator/store/memory"
	"misstep/coordinator/store/sqlite"
	"misstep/coordinator/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestMemory(t *testing.T) {
	storetest.Run(t, func(*testing.T) store.Store { return batch.New(memory.New(), nil) }, storetest.Options{})
}

func TestSQLite(t *testing.T) {
	paths := map[store.Store]string{}
	open := func(t *testing.T, path string) store.Store {
		s, err := sqlite.Open(t.Context(), path)
		require.NoError(t, err)
		b := batch.New(s, nil)
		paths[b] = path
		return b
	}
	storetest.Run(t, func(t *testing.T) store.Store { return open(t, filepath.Join(t.TempDir(), "store.db")) },
		storetest.Options{Reopen: func(t *testing.T, s store.Store) store.Store { return open(t, paths[s]) }})
}
