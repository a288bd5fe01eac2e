package sqlite

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
)

// What recipes have in common is stored once, and each is read as it was written; also in the row of an older version.
func TestRecipesAreStoredInParts(t *testing.T) {
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "store.db"))
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	recipe := func(seed uint64, jdk string) *misstepv1.Recipe {
		return &misstepv1.Recipe{
			Seed: seed, Perturbation: &misstepv1.Perturbation{Strategy: "delay", Seed: seed}, Jdk: &misstepv1.Jdk{Name: jdk},
			JvmFlags: []string{"-Xint"}, Executor: "vm",
		}
	}
	recipes := []*misstepv1.Recipe{recipe(1, "17"), recipe(2, "17"), recipe(3, "21"), {Seed: 4}, {}}
	require.NoError(t, s.Update(t.Context(), func(tx store.Tx) error {
		for i, r := range recipes {
			job := store.Job{Campaign: "C", Index: uint64(i)}
			require.NoError(t, tx.PutLease(&store.Lease{ID: string(rune('a' + i)), Job: job, Recipe: r}))
			require.NoError(t, tx.AddTrial(&store.Trial{
				Campaign: "C", Index: uint64(i), Recipe: r, Outcome: &misstepv1.Outcome{}, Ended: time.Unix(1, 0),
			}))
			job.Recipe = r
			require.NoError(t, tx.PutJob(job))
		}
		return nil
	}))
	var templates int
	require.NoError(t, s.read.QueryRow("SELECT count(*) FROM recipes").Scan(&templates))
	assert.Equal(t, 3, templates, "17, 21 and the empty one")
	whole, err := proto.Marshal(recipes[0])
	require.NoError(t, err)
	_, err = s.read.Exec("PRAGMA query_only(0); UPDATE trials SET recipe = ?, template = 0 WHERE idx = 0", whole)
	require.NoError(t, err)
	require.NoError(t, s.View(t.Context(), func(tx store.Tx) error {
		leases, err := tx.Leases(store.LeaseFilter{})
		require.NoError(t, err)
		trials, err := tx.Trials("C", 0, 10)
		require.NoError(t, err)
		jobs, err := tx.Jobs("C")
		require.NoError(t, err)
		for i, want := range recipes {
			for _, got := range []*misstepv1.Recipe{leases[i].Recipe, trials[i].Recipe, jobs[i].Recipe} {
				assert.True(t, proto.Equal(want, got), "want %v\n got %v", want, got)
			}
		}
		trials[1].Recipe.Jdk.Name = "changed"
		again, err := tx.Trials("C", 0, 10)
		require.NoError(t, err)
		assert.Equal(t, "17", again[1].Recipe.GetJdk().GetName(), "a row is the caller's")
		return nil
	}))
}

// A template that an update has written and that was undone with it is written by the next one, whatever was read in between.
func TestTemplateOfAFailedUpdate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	s, err := Open(t.Context(), path)
	require.NoError(t, err)
	boom := errors.New("boom")
	r := &misstepv1.Recipe{Seed: 5, Jdk: &misstepv1.Jdk{Name: "17"}}
	for _, fail := range []error{boom, nil, nil} {
		err := s.Update(t.Context(), func(tx store.Tx) error {
			require.NoError(t, tx.PutLease(&store.Lease{ID: "L", Job: store.Job{Campaign: "C"}, Recipe: r}))
			l, err := tx.Lease("L")
			require.NoError(t, err)
			assert.True(t, proto.Equal(r, l.Recipe))
			return fail
		})
		require.ErrorIs(t, err, fail)
	}
	require.NoError(t, s.Close())
	again, err := Open(t.Context(), path)
	require.NoError(t, err)
	defer func() { require.NoError(t, again.Close()) }()
	require.NoError(t, again.View(t.Context(), func(tx store.Tx) error {
		l, err := tx.Lease("L")
		require.NoError(t, err)
		assert.True(t, proto.Equal(r, l.Recipe), "%v", l.Recipe)
		return nil
	}))
}
