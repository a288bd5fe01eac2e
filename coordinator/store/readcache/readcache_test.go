package readcache_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	"misstep/coordinator/rates"
	"misstep/coordinator/store"
	"misstep/coordinator/store/memory"
	"misstep/coordinator/store/readcache"
	"misstep/coordinator/store/sqlite"
	misstepv1 "misstep/proto/misstep/v1"
)

// add stores a trial that shows findings, as the coordinator does.
func add(t *testing.T, s store.Store, index uint64, jdk string, findings ...string) {
	t.Helper()
	require.NoError(t, s.Update(t.Context(), func(tx store.Tx) error {
		for _, id := range findings {
			require.NoError(t, tx.PutFinding(&store.Finding{Weight: int(index), Proto: &misstepv1.Finding{
				Id: id, Title: fmt.Sprint("shown by ", index), LastSeen: timestamppb.New(time.Unix(int64(index), 0)),
				Example: &misstepv1.Outcome{}, ExampleRecipe: &misstepv1.Recipe{Seed: index},
			}}))
		}
		return tx.AddTrial(&store.Trial{
			Campaign: "C", Index: index, FindingIDs: findings, Ended: time.Unix(int64(index), 0),
			Recipe: &misstepv1.Recipe{Jdk: &misstepv1.Jdk{Name: jdk}}, Outcome: &misstepv1.Outcome{},
		})
	}))
}

// However many Views come between results, each sees what the store has, and findings without their examples.
func TestAViewSeesWhatTheStoreHas(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		below := memory.New()
		s := readcache.New(below)
		for i := range uint64(rapid.IntRange(0, 20).Draw(rt, "trials")) {
			add(t, s, i, rapid.SampledFrom([]string{"17", "21"}).Draw(rt, "jdk"),
				rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"F1", "F2", "F3"}), 0, 2, rapid.ID[string]).Draw(rt, "shows")...)
			if rapid.Bool().Draw(rt, "nobody looks") {
				continue
			}
			require.NoError(t, below.View(t.Context(), func(want store.Tx) error {
				return s.View(t.Context(), func(got store.Tx) error {
					a, err := want.Log()
					require.NoError(t, err)
					b, err := got.Log()
					require.NoError(t, err)
					assert.Equal(t, a, b)
					all, err := want.Findings()
					require.NoError(t, err)
					kept, err := got.Findings()
					require.NoError(t, err)
					require.Len(t, kept, len(all))
					for i, f := range all {
						assert.Equal(t, f.Weight, kept[i].Weight)
						f.Proto.Example, f.Proto.ExampleRecipe = nil, nil
						assert.True(t, proto.Equal(f.Proto, kept[i].Proto), "%v, got %v", f.Proto, kept[i].Proto)
					}
					return nil
				})
			}))
		}
	})
}

// A log that a View has stays as it is while others see more.
func TestALogDoesNotChange(t *testing.T) {
	s := readcache.New(memory.New())
	log := func() (l *rates.Log) {
		require.NoError(t, s.View(t.Context(), func(tx store.Tx) (err error) {
			l, err = tx.Log()
			return err
		}))
		return l
	}
	add(t, s, 0, "17", "F1")
	first := log()
	before := fmt.Sprint(first)
	for i := uint64(1); i < 50; i++ {
		add(t, s, i, []string{"11", "17"}[i%2], "F2") // the one sorts before the first, the other is the same combination
		log()
	}
	assert.Equal(t, before, fmt.Sprint(first))
	assert.Len(t, log().Hits, 50)
}

// A View that began before another one, which was faster, is run again rather than see a part of what the other one saw.
func TestAViewThatSeesLessIsRunAgain(t *testing.T) {
	below, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "store.db"))
	require.NoError(t, err)
	s := readcache.New(below)
	defer func() { require.NoError(t, s.Close()) }()
	add(t, s, 0, "17", "F1")
	runs := 0
	require.NoError(t, s.View(t.Context(), func(tx store.Tx) error {
		runs++
		decisions, err := tx.Decisions() // from here on it sees one state
		require.NoError(t, err)
		require.Len(t, decisions, runs-1)
		if runs == 1 {
			add(t, s, 1, "17", "F2")
			require.NoError(t, s.Update(t.Context(), func(tx store.Tx) error {
				_, err := tx.AddDecision(&misstepv1.TriageDecision{Finding: "F2"})
				return err
			}))
			require.NoError(t, s.View(t.Context(), func(other store.Tx) error {
				log, err := other.Log()
				require.Len(t, log.Hits, 2)
				return err
			}))
		}
		log, err := tx.Log()
		if err != nil {
			return err
		}
		assert.Len(t, log.Hits, 2)
		found, err := tx.Findings()
		assert.Len(t, found, 2)
		return err
	}))
	assert.Equal(t, 2, runs)
}

// replaced is a store whose content can be replaced, as that of a database by a backup.
type replaced struct{ store.Store }

func TestAStoreThatHasLessThanBeforeIsReadAnew(t *testing.T) {
	r := &replaced{memory.New()}
	s := readcache.New(r)
	hits := func() int {
		n := 0
		require.NoError(t, s.View(t.Context(), func(tx store.Tx) error {
			log, err := tx.Log()
			if err == nil {
				n = len(log.Hits)
			}
			return err
		}))
		return n
	}
	for i := range uint64(3) {
		add(t, s, i, "17", "F1")
	}
	assert.Equal(t, 3, hits())
	r.Store = memory.New()
	add(t, r, 0, "17", "F1")
	assert.Equal(t, 1, hits())
}
