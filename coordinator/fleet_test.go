package coordinator_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/coordinator"
	"misstep/coordinator/store"
	"misstep/coordinator/store/memory"
	misstepv1 "misstep/proto/misstep/v1"
)

// fleet is coordinators on one store, over one clock.
type fleet struct {
	t     *testing.T
	store store.Store

	mu  sync.Mutex
	now time.Time
}

func newFleet(t *testing.T, s store.Store) *fleet {
	return &fleet{t: t, store: s, now: time.Unix(1_800_000_000, 0)}
}

func (f *fleet) start() *coordinator.Server {
	return coordinator.New(coordinator.Config{
		Store: f.store, Shared: true, LeaseTime: simLease,
		Clock: func() time.Time {
			f.mu.Lock()
			defer f.mu.Unlock()
			return f.now
		},
	})
}

// call makes a runner with one slot, which runs what it was given before, call a coordinator.
func (f *fleet) call(s *coordinator.Server, runner string, held ...*misstepv1.Lease) []*misstepv1.Lease {
	f.t.Helper()
	req := &misstepv1.SynchronizeRequest{Runner: &misstepv1.Runner{Id: runner, Slots: 1}, FreeSlots: uint32(1 - len(held))}
	for _, l := range held {
		req.Held = append(req.Held, &misstepv1.HeldLease{
			LeaseId: l.GetId(), State: &misstepv1.HeldLease_Running{Running: &misstepv1.Progress{}},
		})
	}
	resp, err := s.Synchronize(f.t.Context(), req)
	require.NoError(f.t, err)
	return resp.GetDesired()
}

func (f *fleet) jump(by time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = f.now.Add(by)
}

func (f *fleet) pass(by time.Duration, alive ...*coordinator.Server) {
	f.t.Helper()
	for end := f.now.Add(by); f.now.Before(end); {
		f.jump(time.Second)
		for _, s := range alive {
			require.NoError(f.t, s.Tick(f.t.Context()))
		}
	}
}

func (f *fleet) runners(s *coordinator.Server) map[string]time.Time {
	f.t.Helper()
	resp, err := s.ListRunners(f.t.Context(), &misstepv1.ListRunnersRequest{})
	require.NoError(f.t, err)
	all := map[string]time.Time{}
	for _, r := range resp.GetRunners() {
		all[r.GetRunner().GetId()] = r.GetLastCall().AsTime()
	}
	return all
}

func (f *fleet) submit(s *coordinator.Server) {
	f.t.Helper()
	_, err := s.SubmitCampaign(f.t.Context(), submission(10))
	require.NoError(f.t, err)
}

// Each coordinator shows the runners of all, as of their last calls wherever they made them, and forgets those that went.
func TestRunnersOfAllCoordinators(t *testing.T) {
	onEveryStore(t, func(t *testing.T, open func(*testing.T) store.Store) {
		s := open(t)
		defer func() { require.NoError(t, s.Close()) }()
		f := newFleet(t, s)
		a, b := f.start(), f.start()
		f.submit(a)
		f.call(a, "r1")
		f.call(b, "r2")
		f.pass(20*time.Second, a, b)
		assert.Len(t, f.runners(a), 2)
		assert.Len(t, f.runners(b), 2)
		moved := f.now
		f.call(b, "r1")
		f.pass(20*time.Second, a, b)
		assert.Equal(t, moved.UTC(), f.runners(a)["r1"])
		f.pass(2*simLease, a, b)
		assert.Empty(t, f.runners(a))
		assert.Empty(t, f.runners(b))
	})
}

// A coordinator that starts beside another, or in place of one that was killed, does not prolong the leases of dead runners.
func TestStartBesideAnother(t *testing.T) {
	f := newFleet(t, memory.New())
	a := f.start()
	f.submit(a)
	require.Len(t, f.call(a, "dead"), 1)
	for range 4 { // restarted more often than leases end
		f.pass(simLease/4, a)
		f.call(f.start(), "alive")
	}
	f.pass(2*time.Second, a)
	got, err := a.ListCampaigns(t.Context(), &misstepv1.ListCampaignsRequest{})
	require.NoError(t, err)
	assert.EqualValues(t, 1, got.GetCampaigns()[0].GetRetries())
}

// When no coordinator served for longer than a lease lasts, what runners hold is still theirs.
func TestNobodyServed(t *testing.T) {
	f := newFleet(t, memory.New())
	a, b := f.start(), f.start()
	f.submit(a)
	held := f.call(a, "r1")
	f.pass(10*time.Second, a, b)
	f.jump(2 * simLease)
	assert.Equal(t, held[0].GetId(), f.call(f.start(), "r1", held...)[0].GetId())
}

// away is a store whose server is away for a while, in which calls wait.
type away struct {
	store.Store
	wait func()
}

func (a *away) Update(ctx context.Context, f func(store.Tx) error) error {
	a.wait()
	return a.Store.Update(ctx, f)
}

// A store that was away for longer than a lease lasts costs no lease: neither the first call after it nor a later one ends them.
func TestStoreAway(t *testing.T) {
	st := &away{Store: memory.New(), wait: func() {}}
	f := newFleet(t, st)
	a, b := f.start(), f.start()
	f.submit(a)
	one, two := f.call(a, "r1"), f.call(b, "r2")
	f.pass(10*time.Second, a, b)
	st.wait = func() {
		st.wait = func() {}
		f.jump(2 * simLease)
	}
	require.NoError(t, a.Tick(t.Context()))
	assert.Equal(t, two[0].GetId(), f.call(b, "r2", two...)[0].GetId())
	assert.Equal(t, one[0].GetId(), f.call(a, "r1", one...)[0].GetId())
}

// A process that was stopped for longer than a lease lasts costs no lease, either, though no call waited.
func TestProcessStopped(t *testing.T) {
	f := newFleet(t, memory.New())
	a := f.start()
	f.submit(a)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { a.Run(ctx) })
	require.Eventually(t, func() bool { // its first tick leaves a row
		return f.store.View(t.Context(), func(tx store.Tx) error {
			raw, err := tx.WorkerState("coordinators")
			if err == nil && raw == nil {
				err = store.ErrNotFound
			}
			return err
		}) == nil
	}, 20*time.Second, 10*time.Millisecond)
	held := f.call(a, "r1")
	f.jump(2 * simLease)
	assert.Equal(t, held[0].GetId(), f.call(a, "r1", held...)[0].GetId())
	cancel()
	running.Wait()
	f.jump(2 * simLease) // without Run, time may pass unseen
	assert.NotEqual(t, held[0].GetId(), f.call(a, "r1")[0].GetId())
}
