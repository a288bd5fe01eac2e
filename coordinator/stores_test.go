package coordinator_test

import (
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"misstep/coordinator/store"
	"misstep/coordinator/store/memory"
	"misstep/coordinator/store/postgres"
	"misstep/coordinator/store/sqlite"
	"misstep/internal/testenv/pgtest"
)

func TestMain(m *testing.M) { pgtest.VerifyTestMain(m) }

// durable makes an empty place for rows by the kind of store, and returns how to open a store on it, again and again.
var durable = map[string]func(t *testing.T) (open func() store.Store){
	"sqlite": func(t *testing.T) func() store.Store {
		path := filepath.Join(t.TempDir(), "store.db")
		return func() store.Store {
			s, err := sqlite.Open(t.Context(), path)
			require.NoError(t, err)
			return s
		}
	},
	"postgres": func(t *testing.T) func() store.Store {
		url := pgtest.Database(t)
		return func() store.Store {
			s, err := postgres.Open(t.Context(), url, slog.New(slog.DiscardHandler))
			require.NoError(t, err)
			return s
		}
	},
}

// onEveryStore runs a test on an empty store of each kind.
func onEveryStore(t *testing.T, test func(*testing.T, func(*testing.T) store.Store)) {
	t.Run("memory", func(t *testing.T) { test(t, func(*testing.T) store.Store { return memory.New() }) })
	for name, place := range durable {
		t.Run(name, func(t *testing.T) { test(t, func(t *testing.T) store.Store { return place(t)() }) })
	}
}
