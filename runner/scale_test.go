package runner_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/types/known/durationpb"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/runner"
	"misstep/runner/sim"
)

// moody is a coordinator that fails now and then, before or after it has taken a report in, as one does that is killed and
// restarted. It forgets nothing.
type moody struct {
	misstepv1.UnimplementedLeaseServiceServer
	mu       sync.Mutex
	random   *rand.Rand
	want     int
	next     int
	leased   map[string]*misstepv1.Lease // by lease id, without a result yet
	recorded map[string]int              // results by lease id
	most     int                         // leases at a time
	outages  int
}

func (m *moody) Synchronize(_ context.Context, request *misstepv1.SynchronizeRequest) (*misstepv1.SynchronizeResponse, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.random.IntN(10) == 0 {
		m.outages++
		return nil, status.Error(codes.Unavailable, "down")
	}
	for _, held := range request.GetHeld() {
		if _, running := held.GetState().(*misstepv1.HeldLease_Running); !running && m.leased[held.GetLeaseId()] != nil {
			m.recorded[held.GetLeaseId()]++
			delete(m.leased, held.GetLeaseId())
		}
	}
	free := int(request.GetFreeSlots())
	for id := range m.leased {
		if !slices.ContainsFunc(request.GetHeld(), func(h *misstepv1.HeldLease) bool { return h.GetLeaseId() == id }) {
			free-- // the answer that granted it was lost
		}
	}
	for ; free > 0 && m.next < m.want; free-- {
		id := fmt.Sprint("lease-", m.next)
		m.leased[id] = &misstepv1.Lease{Id: id, Recipe: &misstepv1.Recipe{Seed: uint64(m.next)}}
		m.next++
	}
	m.most = max(m.most, len(m.leased))
	if m.random.IntN(10) == 0 {
		m.outages++
		return nil, status.Error(codes.Unavailable, "died after it wrote")
	}
	response := &misstepv1.SynchronizeResponse{
		NextCall: durationpb.New(5 * time.Millisecond),
		Drain:    len(m.leased) == 0 && m.next == m.want,
	}
	for _, lease := range m.leased {
		response.Desired = append(response.Desired, lease)
	}
	return response, nil
}

// TestEveryTrialIsRecordedOnce runs thousands of simulated trials against a coordinator that keeps failing.
func TestEveryTrialIsRecordedOnce(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("MISSTEP_TEST_SEED"); text != "" {
		var err error
		seed, err = strconv.ParseUint(text, 10, 64)
		require.NoError(t, err)
	}
	t.Logf("MISSTEP_TEST_SEED=%d repeats this", seed)
	const trials, slots = 3000, 64
	m := &moody{
		random: rand.New(rand.NewPCG(seed, 1)), want: trials, leased: map[string]*misstepv1.Lease{},
		recorded: map[string]int{},
	}
	listener := bufconn.Listen(1 << 20)
	server := grpc.NewServer()
	misstepv1.RegisterLeaseServiceServer(server, m)
	go func() { _ = server.Serve(listener) }()
	defer server.Stop()
	conn, err := grpc.NewClient("passthrough:scale", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
	require.NoError(t, err)
	defer conn.Close()
	executor, err := sim.New(sim.Script{Seed: seed, Duration: time.Millisecond, Events: []sim.Event{
		{Rate: 0.1, Outcome: sim.Mismatch("A")}, {Rate: 0.1, Outcome: sim.Crash("f")}, {Rate: 0.1},
	}}, runner.SystemClock{})
	require.NoError(t, err)
	var counts runner.Counts
	r, err := runner.New(runner.Config{
		Client: misstepv1.NewLeaseServiceClient(conn), Executor: runner.Count(executor, &counts), Slots: slots,
		Backoff: func() backoff.BackOff { return backoff.NewConstantBackOff(time.Millisecond) },
	})
	require.NoError(t, err)
	require.NoError(t, r.Run(t.Context()))
	require.Len(t, m.recorded, trials)
	for id, n := range m.recorded {
		require.Equal(t, 1, n, id)
	}
	totals := counts.Totals()
	require.Equal(t, uint64(trials), totals.Started, "no trial is run twice while its runner lives")
	require.Zero(t, totals.Running)
	require.LessOrEqual(t, m.most, slots)
	require.Positive(t, m.outages)
}
