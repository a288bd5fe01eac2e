package coordinator_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"misstep/coordinator"
	"misstep/coordinator/store"
	"misstep/coordinator/store/postgres"
	"misstep/internal/testenv/pgtest"
	misstepv1 "misstep/proto/misstep/v1"
)

// seed returns the seed of a random test, which MISSTEP_TEST_SEED sets.
func seed(t *testing.T) uint64 {
	t.Helper()
	s := rand.Uint64()
	if v := os.Getenv("MISSTEP_TEST_SEED"); v != "" {
		var err error
		s, err = strconv.ParseUint(v, 10, 64)
		require.NoError(t, err)
	}
	t.Logf("MISSTEP_TEST_SEED=%d repeats this", s)
	return s
}

func submission(trials uint64) *misstepv1.SubmitCampaignRequest {
	return &misstepv1.SubmitCampaignRequest{
		Campaign: &misstepv1.Campaign{
			Name: "kill", Jdks: []string{"17"}, Workloads: []*misstepv1.CampaignWorkload{{Name: "w"}},
			Checks: []*misstepv1.Check{{Name: "gst-asgct"}}, Budget: &misstepv1.Budget{Trials: trials},
		},
		Jdks:      []*misstepv1.Jdk{{Name: "17", Digest: digest("a")}},
		Workloads: []*misstepv1.Workload{{Name: "w", Digest: digest("b")}},
	}
}

const simLease = time.Minute

// sim plays runners and kills against a coordinator, one step after the other, over a clock of its own. What a runner has
// finished stays with it until it is acknowledged, as the LeaseService says.
type sim struct {
	t      *testing.T
	rand   *rand.Rand
	now    time.Time
	place  func() store.Store
	stores map[*coordinator.Server]store.Store // that are open
	shared bool

	servers []*coordinator.Server

	runners  []*simRunner
	born     int
	token    int
	mustHave map[string]bool // outcomes acknowledged to a runner whose lease cannot have been lost
	kills    struct{ coordinator, runner, answers int }
}

type simRunner struct {
	id    string
	held  map[string]string // lease → token of its outcome, "" while it runs
	heard time.Time         // the last answer
	slots uint32
}

// restart kills a coordinator, if there is one, and starts another in its place.
func (s *sim) restart(i int) {
	// The file of the coordinator before is not closed: a killed process closes nothing. Connections are closed by its system.
	if before := s.servers[i]; s.shared && before != nil {
		require.NoError(s.t, s.stores[before].Close())
		delete(s.stores, before)
	}
	st := s.place()
	s.servers[i] = coordinator.New(coordinator.Config{
		Store: st, Shared: s.shared, Clock: func() time.Time { return s.now }, LeaseTime: simLease,
	})
	s.stores[s.servers[i]] = st
}

// any returns one of the coordinators.
func (s *sim) any() *coordinator.Server { return s.servers[s.rand.IntN(len(s.servers))] }

func (s *sim) newRunner() *simRunner {
	s.born++
	return &simRunner{id: fmt.Sprintf("r%d", s.born), held: map[string]string{}, slots: 1 + s.rand.Uint32N(3), heard: s.now}
}

func (s *sim) sync(r *simRunner, answerLost bool) {
	req := &misstepv1.SynchronizeRequest{Runner: &misstepv1.Runner{Id: r.id, Slots: r.slots}}
	busy := uint32(0)
	for id, token := range r.held {
		h := &misstepv1.HeldLease{LeaseId: id, State: &misstepv1.HeldLease_Running{Running: &misstepv1.Progress{}}}
		if token != "" {
			h.State = &misstepv1.HeldLease_Outcome{
				Outcome: &misstepv1.Outcome{Kind: misstepv1.OutcomeKind_OUTCOME_KIND_CLEAN, Reason: token},
			}
		} else {
			busy++
		}
		req.Held = append(req.Held, h)
	}
	req.FreeSlots = r.slots - busy
	resp, err := s.any().Synchronize(s.t.Context(), req)
	require.NoError(s.t, err)
	// A lease is certain to be live when its runner was heard within the lease time, less the third that renewals may skip.
	certain := s.now.Sub(r.heard) < simLease*2/3
	if answerLost {
		s.kills.answers++
		if certain {
			for _, token := range r.held {
				if token != "" {
					s.mustHave[token] = true
				}
			}
		}
		return
	}
	r.heard = s.now
	desired := map[string]bool{}
	for _, l := range resp.GetDesired() {
		desired[l.GetId()] = true
		if _, ok := r.held[l.GetId()]; !ok {
			r.held[l.GetId()] = ""
		}
	}
	assert.LessOrEqual(s.t, len(resp.GetDesired()), int(r.slots), "more leases than slots")
	for id, token := range r.held {
		if !desired[id] {
			if token != "" && certain {
				s.mustHave[token] = true
			}
			delete(r.held, id)
		}
	}
}

func (s *sim) step() {
	r := s.runners[s.rand.IntN(len(s.runners))]
	switch x := s.rand.IntN(100); {
	case x < 45:
		s.sync(r, false)
	case x < 52:
		s.sync(r, true)
	case x < 80: // a trial ends
		for id, token := range r.held {
			if token == "" {
				s.token++
				r.held[id] = fmt.Sprintf("outcome-%d of %s", s.token, id)
				break
			}
		}
	case x < 93:
		s.now = s.now.Add(time.Duration(s.rand.IntN(15)) * time.Second)
		for _, server := range s.servers {
			require.NoError(s.t, server.Tick(s.t.Context()))
		}
	case x < 96: // a runner is killed and another is started in its place
		s.kills.runner++
		for i := range s.runners {
			if s.runners[i] == r {
				s.runners[i] = s.newRunner()
			}
		}
	case x < 97: // a machine sleeps for longer than a lease lasts
		s.now = s.now.Add(2 * simLease)
	default:
		s.kills.coordinator++
		s.restart(s.rand.IntN(len(s.servers)))
	}
}

// Coordinators and runners are killed at random, responses are lost and clocks jump: every trial of the budget is recorded exactly
// once, with an outcome that was acknowledged to its runner.
func TestKilled(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) { testKilled(t, durable["sqlite"](t), 1) })
	t.Run("two on postgres", func(t *testing.T) { testKilled(t, durable["postgres"](t), 2) })
}

func testKilled(t *testing.T, place func() store.Store, coordinators int) {
	s := &sim{
		t: t, rand: rand.New(rand.NewPCG(seed(t), 1)), place: place, stores: map[*coordinator.Server]store.Store{},
		shared: coordinators > 1, now: time.Unix(1_800_000_000, 0), mustHave: map[string]bool{},
		servers: make([]*coordinator.Server, coordinators),
	}
	for i := range s.servers {
		s.restart(i)
	}
	defer func() {
		for _, st := range s.stores {
			assert.NoError(t, st.Close())
		}
	}()
	for range 6 {
		s.runners = append(s.runners, s.newRunner())
	}
	const trials = 150
	resp, err := s.any().SubmitCampaign(t.Context(), submission(trials))
	require.NoError(t, err)
	state := func() *misstepv1.CampaignStatus {
		got, err := s.any().GetCampaign(t.Context(), &misstepv1.GetCampaignRequest{CampaignId: resp.GetCampaignId()})
		require.NoError(t, err)
		return got.GetCampaign()
	}
	for i := 0; ; i++ {
		require.Less(t, i, 20_000, "the campaign does not end")
		s.step()
		if i%20 == 0 && state().GetState() == misstepv1.CampaignState_CAMPAIGN_STATE_DONE {
			break
		}
	}
	st := state()
	assert.EqualValues(t, trials, st.GetOutcomes()["clean"]+st.GetFailed())
	assert.Zero(t, st.GetCancelled())
	assert.Zero(t, st.GetRunning()+st.GetQueued())

	got, err := s.any().ListTrials(t.Context(), &misstepv1.ListTrialsRequest{CampaignId: resp.GetCampaignId(), PageSize: 1000})
	require.NoError(t, err)
	assert.Len(t, got.GetTrials(), trials)
	seeds, tokens := map[uint64]bool{}, map[string]bool{}
	for _, tr := range got.GetTrials() {
		assert.False(t, seeds[tr.GetRecipe().GetSeed()], "recorded twice")
		seeds[tr.GetRecipe().GetSeed()] = true
		tokens[tr.GetOutcome().GetReason()] = true
	}
	for token := range s.mustHave {
		assert.True(t, tokens[token], "%s was reported under a live lease and is lost", token)
	}
	t.Logf("%+v; %d retries; %d outcomes followed", s.kills, st.GetRetries(), len(s.mustHave))
	assert.NotZero(t, s.kills.coordinator*s.kills.runner*s.kills.answers*len(s.mustHave), "the test did not do what it is for")
}

// front is the address at which a coordinator listens; the coordinator can be replaced while runners keep calling.
type front struct {
	mu  sync.Mutex
	lis *bufconn.Listener
	srv *grpc.Server
}

func (f *front) start(t *testing.T, s *coordinator.Server, wg *sync.WaitGroup) {
	lis, srv := bufconn.Listen(1<<20), grpc.NewServer(coordinator.ServerOptions()...)
	s.Register(srv)
	f.mu.Lock()
	f.lis, f.srv = lis, srv
	f.mu.Unlock()
	wg.Go(func() {
		if err := srv.Serve(lis); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			t.Errorf("serve: %v", err)
		}
	})
}

func (f *front) dial(ctx context.Context, _ string) (net.Conn, error) {
	f.mu.Lock()
	lis := f.lis
	f.mu.Unlock()
	return lis.DialContext(ctx)
}

// Real gRPC, concurrent runners, and a coordinator that is replaced, or a database that is killed, without notice.
func TestServe(t *testing.T) {
	for name, place := range durable {
		t.Run(name, func(t *testing.T) { testServe(t, place(t), func(replace func()) { replace() }) })
	}
	t.Run("postgres is killed", func(t *testing.T) {
		server := pgtest.Start(t)
		url := server.Database(t)
		testServe(t, func() store.Store {
			s, err := postgres.Open(t.Context(), url, slog.New(slog.DiscardHandler))
			require.NoError(t, err)
			return s
		}, func(func()) {
			server.Kill()
			require.NoError(t, server.Run())
		})
	})
}

// testServe disturbs a campaign when half of its trials have ended.
func testServe(t *testing.T, place func() store.Store, disturb func(replaceCoordinator func())) {
	var stores []store.Store
	var wg sync.WaitGroup
	f := &front{}
	start := func() {
		st := place()
		stores = append(stores, st)
		f.start(t, coordinator.New(coordinator.Config{Store: st, SyncInterval: time.Millisecond}), &wg)
	}
	start()
	conn, err := grpc.NewClient("passthrough:coordinator", grpc.WithContextDialer(f.dial),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer conn.Close()
	admin := misstepv1.NewAdminServiceClient(conn)
	const trials = 120
	sub, err := admin.SubmitCampaign(t.Context(), submission(trials))
	require.NoError(t, err)

	ctx, cancel := context.WithCancel(t.Context())
	var ended atomic.Int64
	halfway := make(chan struct{})
	var runners sync.WaitGroup
	for i := range 5 {
		runners.Go(func() {
			lease := misstepv1.NewLeaseServiceClient(conn)
			held := map[string]*misstepv1.HeldLease{}
			for ctx.Err() == nil {
				req := &misstepv1.SynchronizeRequest{
					Runner: &misstepv1.Runner{Id: fmt.Sprint("r", i), Slots: 2}, FreeSlots: uint32(2 - len(held)),
				}
				for _, h := range held {
					req.Held = append(req.Held, h)
				}
				resp, err := lease.Synchronize(ctx, req, grpc.WaitForReady(true))
				if err != nil {
					continue // call again: what is held is still held
				}
				desired := map[string]bool{}
				for _, l := range resp.GetDesired() {
					desired[l.GetId()] = true
					if held[l.GetId()] == nil {
						held[l.GetId()] = &misstepv1.HeldLease{
							LeaseId: l.GetId(),
							State: &misstepv1.HeldLease_Outcome{
								Outcome: &misstepv1.Outcome{Kind: misstepv1.OutcomeKind_OUTCOME_KIND_CLEAN},
							},
						}
						if ended.Add(1) == trials/2 {
							close(halfway)
						}
					}
				}
				for id := range held {
					if !desired[id] {
						delete(held, id)
					}
				}
			}
		})
	}
	<-halfway
	disturb(func() {
		f.srv.Stop() // calls under way break off
		start()
	})

	var got *misstepv1.CampaignStatus
	require.Eventually(t, func() bool {
		resp, err := admin.GetCampaign(t.Context(), &misstepv1.GetCampaignRequest{CampaignId: sub.GetCampaignId()},
			grpc.WaitForReady(true))
		got = resp.GetCampaign()
		return err == nil && got.GetState() == misstepv1.CampaignState_CAMPAIGN_STATE_DONE
	}, 60*time.Second, 5*time.Millisecond)
	cancel()
	runners.Wait()
	assert.EqualValues(t, trials, got.GetOutcomes()["clean"])

	_, err = admin.GetFinding(t.Context(), &misstepv1.GetFindingRequest{FindingId: "F0"})
	assert.Equal(t, codes.NotFound, status.Code(err))
	f.srv.Stop()
	wg.Wait()
	for _, st := range stores {
		assert.NoError(t, st.Close())
	}
}
