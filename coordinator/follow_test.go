package coordinator_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/coordinator"
	"misstep/coordinator/rates"
	"misstep/coordinator/store"
	"misstep/coordinator/store/memory"
	misstepv1 "misstep/proto/misstep/v1"
)

// counting is a store that counts the results that its Views read one by one.
type counting struct {
	store.Store
	read atomic.Int64
}

func (c *counting) View(ctx context.Context, f func(store.Tx) error) error {
	return c.Store.View(ctx, func(tx store.Tx) error { return f(countingTx{tx, c}) })
}

type countingTx struct {
	store.Tx
	of *counting
}

func (t countingTx) Results(after uint64, f func(rates.Result) error) (uint64, error) {
	return t.Tx.(store.Follower).Results(after, func(r rates.Result) error {
		t.of.read.Add(1)
		return f(r)
	})
}

// A list of findings reads the results of the last seconds only, however many there are: the coordinator follows them.
func TestListsDoNotReadAllResults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &counting{Store: memory.New()}
		add := func(from, to uint64) {
			require.NoError(t, st.Update(t.Context(), func(tx store.Tx) error {
				for i := from; i < to; i++ {
					if err := tx.AddTrial(&store.Trial{
						Campaign: fmt.Sprint("C", i%3), Index: i, Recipe: &misstepv1.Recipe{},
						Outcome: &misstepv1.Outcome{Kind: misstepv1.OutcomeKind_OUTCOME_KIND_CLEAN},
					}); err != nil {
						return err
					}
				}
				return nil
			}))
		}
		add(0, 1000)
		s := coordinator.New(coordinator.Config{Store: st})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); s.Run(ctx) }()
		synctest.Wait()
		list := func() int64 {
			before := st.read.Load()
			_, err := s.ListFindings(t.Context(), &misstepv1.ListFindingsRequest{})
			require.NoError(t, err)
			return st.read.Load() - before
		}
		assert.Zero(t, list(), "after the start")
		add(1000, 2000)
		time.Sleep(6 * time.Second)
		add(2000, 2010)
		assert.EqualValues(t, 10, list())
		cancel()
		<-done
	})
}
