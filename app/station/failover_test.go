package station_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	healthgrpc "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"misstep/app/station"
	"misstep/coordinator"
	"misstep/coordinator/store"
	"misstep/coordinator/store/memory"
	"misstep/internal/proxy"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/runner"
	"misstep/runner/sim"
)

// site is a coordinator behind a proxy, with its own gRPC server.
type site struct {
	t       *testing.T
	store   store.Store
	address string
	proxy   *proxy.Proxy

	mu     sync.Mutex
	server *grpc.Server
	health *health.Server
	calls  int
	last   time.Time
}

func openSite(t *testing.T, st store.Store) *site {
	s := &site{t: t, store: st, address: "127.0.0.1:0"}
	s.start()
	var err error
	s.proxy, err = proxy.Listen(s.address)
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = s.proxy.Close()
		s.stop()
	})
	return s
}

// start serves, at the address that it had before if there was one.
func (s *site) start() {
	listener, err := net.Listen("tcp", s.address)
	require.NoError(s.t, err)
	s.address = listener.Addr().String()
	c := coordinator.New(coordinator.Config{Store: s.store, LeaseTime: 30 * time.Second, SyncInterval: 20 * time.Millisecond})
	server := grpc.NewServer(append(coordinator.ServerOptions(), grpc.ChainUnaryInterceptor(s.count))...)
	c.Register(server)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.server, s.health = server, health.NewServer()
	healthgrpc.RegisterHealthServer(server, s.health)
	go func() { _ = server.Serve(listener) }()
}

// stop ends the server as SIGKILL ends a process: calls under way break off.
func (s *site) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.server.Stop()
}

func (s *site) count(ctx context.Context, request any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	s.mu.Lock()
	s.calls++
	s.last = time.Now()
	s.mu.Unlock()
	return handle(ctx, request)
}

func (s *site) seen() (calls int, last time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls, s.last
}

// called waits for the next calls.
func (s *site) called(within time.Duration, why string) {
	s.t.Helper()
	before, _ := s.seen()
	require.Eventually(s.t, func() bool { now, _ := s.seen(); return now > before+3 }, within, 5*time.Millisecond, why)
}

const trials = 800

// submit asks for a campaign whose trials a simulation runs.
func submit(t *testing.T, st *station.Station) string {
	digest := func(c string) string { return "sha256:" + strings.Repeat(c, 64) }
	response, err := st.SubmitCampaign(t.Context(), &misstepv1.SubmitCampaignRequest{
		Campaign: &misstepv1.Campaign{
			Name: "failover", Jdks: []string{"17"}, Workloads: []*misstepv1.CampaignWorkload{{Name: "w"}},
			Checks: []*misstepv1.Check{{Name: "gst-asgct"}}, Budget: &misstepv1.Budget{Trials: trials},
		},
		Jdks:      []*misstepv1.Jdk{{Name: "17", Digest: digest("a")}},
		Workloads: []*misstepv1.Workload{{Name: "w", Digest: digest("b")}},
	})
	require.NoError(t, err)
	return response.GetCampaignId()
}

// A runner with two coordinators on one store continues within seconds when one is killed, says that it drains, or does not answer
// at all, and uses it again when it is back. Every trial is recorded once and run once.
func TestFailover(t *testing.T) {
	st := memory.New()
	defer st.Close()
	one, two := openSite(t, st), openSite(t, st)
	client, err := station.Dial(one.proxy.Address(), two.proxy.Address())
	require.NoError(t, err)
	defer client.Close()
	id := submit(t, client)

	executor, err := sim.New(sim.Script{Seed: 1, Duration: 200 * time.Millisecond}, runner.SystemClock{})
	require.NoError(t, err)
	var counts runner.Counts
	var log lockedText
	r, err := runner.New(runner.Config{
		Client: client.Leases, Executor: runner.Count(executor, &counts), Slots: 8,
		Logger: slog.New(slog.NewTextHandler(&log, nil)),
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	defer func() {
		cancel()
		t.Logf("the runner's end: %v", <-ended)
	}()

	one.called(5*time.Second, "both are used")
	two.called(5*time.Second, "both are used")

	one.stop()
	two.called(2*time.Second, "one is killed")
	require.Empty(t, log.String(), "a call that breaks off goes to the other at once")
	one.start()
	one.called(10*time.Second, "one is back")

	one.health.Shutdown()
	require.Eventually(t, func() bool { _, last := one.seen(); return time.Since(last) > 300*time.Millisecond }, 5*time.Second,
		10*time.Millisecond, "nobody calls one that does not serve")
	two.called(2*time.Second, "one drains")
	one.health.Resume()
	one.called(5*time.Second, "one serves again")

	began := time.Now()
	one.proxy.Freeze()
	two.called(25*time.Second, "one does not answer")
	t.Logf("no answer: calls go on after %v", time.Since(began))
	one.proxy.Thaw()

	one.proxy.Cut()
	two.proxy.Cut()
	time.Sleep(500 * time.Millisecond) // nobody answers; trials end meanwhile
	one.proxy.Restore()
	two.proxy.Restore()
	one.called(15*time.Second, "both are back")
	two.called(15*time.Second, "both are back")

	require.Eventually(t, func() bool {
		response, err := client.GetCampaign(t.Context(), &misstepv1.GetCampaignRequest{CampaignId: id})
		return err == nil && response.GetCampaign().GetState() == misstepv1.CampaignState_CAMPAIGN_STATE_DONE
	}, 2*time.Minute, 50*time.Millisecond)
	require.EqualValues(t, trials, counts.Totals().Started, "no trial is run twice while its runner lives")
	recorded, err := station.Trials(t.Context(), client, id)
	require.NoError(t, err)
	seeds := map[uint64]bool{}
	for _, trial := range recorded {
		require.NotNil(t, trial.GetOutcome())
		seeds[trial.GetRecipe().GetSeed()] = true
	}
	require.Len(t, recorded, trials)
	require.Len(t, seeds, trials, "each is recorded once")
}

// lockedText is a log that one goroutine writes while another reads.
type lockedText struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lockedText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lockedText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// When nobody answers, the error names all addresses; a name that does not resolve does no harm beside one that does.
func TestAddresses(t *testing.T) {
	site := openSite(t, memory.New())
	dead := func() string {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer l.Close()
		return l.Addr().String()
	}
	ask := func(addresses ...string) error {
		client, err := station.Dial(addresses...)
		require.NoError(t, err)
		defer client.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		_, err = client.ListRunners(ctx, &misstepv1.ListRunnersRequest{})
		return err
	}
	require.NoError(t, ask(site.address))
	require.NoError(t, ask(site.address, site.address), "named twice")
	require.NoError(t, ask("no-such-host.invalid:1", site.address))
	require.NoError(t, ask(dead(), site.address))
	_, port, err := net.SplitHostPort(site.address)
	require.NoError(t, err)
	require.NoError(t, ask("localhost:"+port), "a name, with ::1 and 127.0.0.1 or one of them")

	a, b := dead(), dead()
	err = ask(a, b)
	require.Equal(t, codes.Unavailable, status.Code(err))
	require.ErrorContains(t, err, fmt.Sprintf("no coordinator answers at %s, %s (", a, b))
	err = ask("no-such-host.invalid:1")
	require.Equal(t, codes.Unavailable, status.Code(err))
	require.ErrorContains(t, err, "no coordinator answers at no-such-host.invalid:1 (")
	_, err = station.Dial()
	require.ErrorContains(t, err, "no address given")
}
