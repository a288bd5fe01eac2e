package coordinator_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/coordinator/store"
	"misstep/coordinator/store/memory"
	misstepv1 "misstep/proto/misstep/v1"
)

// leases of a fleet's store, all campaigns'.
func (f *fleet) leases() (all []*store.Lease) {
	f.t.Helper()
	require.NoError(f.t, f.store.View(f.t.Context(), func(tx store.Tx) (err error) {
		all, err = tx.Leases(store.LeaseFilter{})
		return err
	}))
	return all
}

// Leases that end at once are expired in portions. One that is not yet expired cannot be renewed any more, and none is left after a
// tick.
func TestLeasesExpireInPortions(t *testing.T) {
	f := newFleet(t, memory.New())
	s := f.start()
	_, err := s.SubmitCampaign(t.Context(), submission(5000))
	require.NoError(t, err)
	const runners, slots = 100, 8
	for i := range runners {
		_, err := s.Synchronize(t.Context(), &misstepv1.SynchronizeRequest{
			Runner: &misstepv1.Runner{Id: fmt.Sprint("gone", i), Slots: slots}, FreeSlots: slots,
		})
		require.NoError(t, err)
	}
	f.jump(simLease)
	f.call(s, "alive")
	var overdue []*store.Lease
	for _, l := range f.leases() {
		if !l.Deadline.After(f.now) {
			overdue = append(overdue, l)
		}
	}
	require.Len(t, overdue, runners*slots-256)
	late := overdue[len(overdue)-1]
	resp, err := s.Synchronize(t.Context(), &misstepv1.SynchronizeRequest{
		Runner: &misstepv1.Runner{Id: late.Runner, Slots: 1}, Held: []*misstepv1.HeldLease{{
			LeaseId: late.ID, State: &misstepv1.HeldLease_Running{Running: &misstepv1.Progress{}},
		}},
	})
	require.NoError(t, err)
	assert.Empty(t, resp.GetDesired(), "its lease has ended")
	require.NoError(t, s.Tick(t.Context()))
	assert.Len(t, f.leases(), 1, "that of the runner that calls")
}

// slow is a store whose updates wait for the test.
type slow struct {
	store.Store
	wait chan struct{}
}

func (s *slow) Update(ctx context.Context, f func(store.Tx) error) error {
	<-s.wait
	return s.Store.Update(ctx, f)
}

// A call that came before its lease's deadline renews it, however late its transaction begins.
func TestCallThatWaitsKeepsItsLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		below := &slow{memory.New(), make(chan struct{})}
		f := newFleet(t, below)
		s := f.start()
		open := below.wait
		close(open)
		f.submit(s)
		held := f.call(s, "r")
		require.Len(t, held, 1)
		f.jump(simLease - time.Second)
		require.NoError(t, s.Tick(t.Context()))

		below.wait = make(chan struct{})
		go func() { assert.NoError(t, s.Tick(t.Context())) }()
		synctest.Wait()
		again := make(chan []*misstepv1.Lease, 1)
		go func() { again <- f.call(s, "r", held...) }()
		synctest.Wait()
		f.jump(2 * time.Second)
		close(below.wait)
		desired := <-again
		require.Len(t, desired, 1)
		assert.Equal(t, held[0].GetId(), desired[0].GetId())
		assert.True(t, desired[0].GetDeadline().AsTime().After(f.now))
	})
}
