package batch_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/coordinator/store"
	"misstep/coordinator/store/batch"
	"misstep/coordinator/store/memory"
	misstepv1 "misstep/proto/misstep/v1"
)

// gated is a store whose transactions begin when the test lets them, and whose commits may fail.
type gated struct {
	store.Store
	begin chan struct{}
	mu    sync.Mutex
	begun int
	// durable transactions of together, by their number of updates.
	durable []int
	commit  error
	// longest of together's transactions; 0 is no limit.
	longest time.Duration
	// ended is closed when nobody waits for the transaction that is under way.
	ended <-chan struct{}
}

func newGated() *gated { return &gated{Store: memory.New(), begin: make(chan struct{})} }

func (g *gated) Update(ctx context.Context, f func(store.Tx) error) error {
	<-g.begin
	g.mu.Lock()
	g.begun++
	g.ended = ctx.Done()
	g.mu.Unlock()
	return g.Store.Update(ctx, func(tx store.Tx) error {
		if err := f(tx); err != nil {
			return err
		}
		return g.commit
	})
}

// together runs updates in one transaction and returns their errors.
func (g *gated) together(t *testing.T, updates ...func(store.Tx) error) []error {
	t.Helper()
	b := batch.New(g, nil)
	b.Committed = func(updates int) { g.durable = append(g.durable, updates) }
	b.Longest = time.Hour
	if g.longest > 0 {
		b.Longest = g.longest
	}
	errs := make([]error, len(updates))
	var running sync.WaitGroup
	run := func(f func(store.Tx) error, err *error) {
		running.Go(func() { *err = b.Update(t.Context(), f) })
	}
	var first error
	run(func(store.Tx) error { return nil }, &first)
	require.Eventually(t, func() bool { return b.Working() }, 10*time.Second, time.Millisecond)
	for i, f := range updates {
		run(f, &errs[i])
		require.Eventually(t, func() bool { return b.Waiting() == i+1 }, 10*time.Second, time.Millisecond)
	}
	close(g.begin)
	running.Wait()
	require.NoError(t, first)
	return errs
}

func put(id string) func(store.Tx) error {
	return func(tx store.Tx) error { return tx.PutCampaign(&store.Campaign{ID: id}) }
}

func result(index uint64) func(store.Tx) error {
	return func(tx store.Tx) error {
		return tx.AddTrial(&store.Trial{Campaign: "C", Index: index, Recipe: &misstepv1.Recipe{}, Outcome: &misstepv1.Outcome{}})
	}
}

func (g *gated) campaigns(t *testing.T) (ids []string) {
	require.NoError(t, g.View(t.Context(), func(tx store.Tx) error {
		all, err := tx.Campaigns(false)
		for _, c := range all {
			ids = append(ids, c.ID)
		}
		return err
	}))
	return ids
}

func TestUpdatesThatWaitShareATransaction(t *testing.T) {
	g := newGated()
	var updates []func(store.Tx) error
	for i := range 50 {
		updates = append(updates, put(fmt.Sprint("C", i)))
	}
	for _, err := range g.together(t, updates...) {
		require.NoError(t, err)
	}
	assert.Len(t, g.campaigns(t), 50)
	assert.Equal(t, 2, g.begun, "the first one alone, then all others")
	assert.Equal(t, []int{1, 50}, g.durable)
}

// Those for which there is no time are run, and answered, after those before are durable; none is lost, and none runs twice.
func TestUpdatesThatTakeLongAreSpreadOverTransactions(t *testing.T) {
	g := newGated()
	g.longest = time.Nanosecond
	boom := errors.New("boom")
	runs := 0
	var updates []func(store.Tx) error
	for i := range 9 {
		updates = append(updates, func(tx store.Tx) error {
			runs++
			ids, err := tx.Campaigns(false)
			assert.Len(t, ids, i-i/4, "those before, one of four fails")
			if i%4 == 3 {
				return boom
			}
			return errors.Join(err, put(fmt.Sprint("C", i))(tx))
		})
	}
	for i, err := range g.together(t, updates...) {
		assert.Equal(t, i%4 == 3, errors.Is(err, boom), i)
	}
	assert.Equal(t, 9, runs)
	assert.Len(t, g.campaigns(t), 7)
	assert.Equal(t, []int{1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, g.durable)
}

func TestFailureOfOneUpdate(t *testing.T) {
	boom := errors.New("boom")
	fails := func(tx store.Tx) error { return errors.Join(put("C2")(tx), result(1)(tx), boom) }
	// A decision is written through: the transaction begins again without the update.
	failsLate := func(tx store.Tx) error {
		_, err := tx.AddDecision(&misstepv1.TriageDecision{Kind: "merge"})
		return errors.Join(put("C3")(tx), err, boom)
	}
	g := newGated()
	errs := g.together(t, put("C1"), fails, result(1), failsLate, put("C4"))
	assert.Equal(t, []bool{false, true, false, true, false}, []bool{
		errs[0] != nil, errs[1] != nil, errs[2] != nil, errs[3] != nil, errs[4] != nil,
	})
	require.ErrorIs(t, errs[1], boom)
	require.ErrorIs(t, errs[3], boom)
	assert.Equal(t, []string{"C4", "C1"}, g.campaigns(t))
	require.NoError(t, g.View(t.Context(), func(tx store.Tx) error {
		decisions, err := tx.Decisions()
		assert.Empty(t, decisions)
		return err
	}))
}

// The second result of a trial is refused below, when all is written; then each update has a transaction of its own.
func TestRowThatExistsFailsAlone(t *testing.T) {
	g := newGated()
	require.NoError(t, g.Store.Update(t.Context(), result(7)))
	errs := g.together(t, put("C1"), result(7), result(8))
	require.NoError(t, errs[0])
	require.ErrorIs(t, errs[1], store.ErrExists)
	require.NoError(t, errs[2])
	assert.Equal(t, []string{"C1"}, g.campaigns(t))
}

func TestFailedCommitFailsAll(t *testing.T) {
	g := newGated()
	g.commit = errors.New("disk full")
	b := batch.New(g, nil)
	b.Committed = func(updates int) { g.durable = append(g.durable, updates) }
	close(g.begin)
	require.ErrorIs(t, b.Update(t.Context(), put("C1")), g.commit)
	assert.Empty(t, g.campaigns(t))
	assert.Empty(t, g.durable)
	g.commit = nil
	require.NoError(t, b.Update(t.Context(), put("C2")))
}

func TestUpdateThatDoesNotReturn(t *testing.T) {
	g := newGated()
	close(g.begin)
	b := batch.New(g, nil)
	assert.PanicsWithValue(t, "boom", func() {
		_ = b.Update(t.Context(), func(tx store.Tx) error {
			assert.NoError(t, put("C1")(tx))
			panic("boom")
		})
	})
	err := b.Update(t.Context(), func(tx store.Tx) error {
		defer runtime.Goexit()
		return put("C2")(tx)
	})
	require.ErrorContains(t, err, "left its goroutine")
	require.NoError(t, b.Update(t.Context(), put("C3")))
	assert.Equal(t, []string{"C3"}, g.campaigns(t))
}

// An update whose caller has left before it started does not run; others do.
func TestAbandonedUpdateDoesNotRun(t *testing.T) {
	g := newGated()
	b := batch.New(g, nil)
	var running sync.WaitGroup
	running.Go(func() { assert.NoError(t, b.Update(t.Context(), put("C1"))) })
	require.Eventually(t, b.Working, 10*time.Second, time.Millisecond)
	ctx, cancel := context.WithCancel(t.Context())
	running.Go(func() { assert.ErrorIs(t, b.Update(ctx, put("C2")), context.Canceled) })
	require.Eventually(t, func() bool { return b.Waiting() == 1 }, 10*time.Second, time.Millisecond)
	cancel()
	time.Sleep(10 * time.Millisecond) // the abandoned update has left, or waits for what does not come
	close(g.begin)
	running.Wait()
	assert.Equal(t, []string{"C1"}, g.campaigns(t))
}

// A store that is away is not waited for by nobody.
func TestTransactionEndsWithItsLastCaller(t *testing.T) {
	b := batch.New(away{}, nil)
	ctx, cancel := context.WithCancel(t.Context())
	other, cancelOther := context.WithCancel(t.Context())
	defer cancelOther()
	errs := make(chan error)
	go func() { errs <- b.Update(ctx, put("C1")) }()
	require.Eventually(t, b.Working, 10*time.Second, time.Millisecond)
	go func() { errs <- b.Update(other, put("C2")) }()
	cancel()
	require.ErrorIs(t, <-errs, context.Canceled)
	cancelOther()
	require.ErrorIs(t, <-errs, context.Canceled)
}

// A transaction that nobody waits for any more does not go on to its last update.
func TestTransactionStopsWhenAllHaveLeft(t *testing.T) {
	g := newGated()
	b := batch.New(g, nil)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { assert.NoError(t, b.Update(t.Context(), put("C0"))) })
	require.Eventually(t, b.Working, 10*time.Second, time.Millisecond)
	running.Go(func() {
		assert.ErrorIs(t, b.Update(ctx, func(tx store.Tx) error {
			cancel()
			<-g.ended
			return put("C1")(tx)
		}), context.Canceled)
	})
	require.Eventually(t, func() bool { return b.Waiting() == 1 }, 10*time.Second, time.Millisecond)
	running.Go(func() {
		err := b.Update(ctx, func(store.Tx) error { t.Error("ran for nobody"); return nil })
		assert.ErrorIs(t, err, context.Canceled)
	})
	require.Eventually(t, func() bool { return b.Waiting() == 2 }, 10*time.Second, time.Millisecond)
	close(g.begin)
	running.Wait()
	assert.Equal(t, []string{"C0"}, g.campaigns(t))
}

// away is a store whose server does not answer.
type away struct{ store.Store }

func (away) Update(ctx context.Context, _ func(store.Tx) error) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestFirstRunsInEachTransaction(t *testing.T) {
	boom := errors.New("boom")
	var fail error
	b := batch.New(memory.New(), func(time.Time) func(store.Tx) error {
		return func(tx store.Tx) error { return errors.Join(put("C0")(tx), fail) }
	})
	require.NoError(t, b.Update(t.Context(), func(tx store.Tx) error {
		_, err := tx.Campaign("C0")
		return err
	}))
	fail = boom
	require.ErrorIs(t, b.Update(t.Context(), func(store.Tx) error { t.Error("ran after a failure"); return nil }), boom)
}
