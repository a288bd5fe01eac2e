// Package coordinator turns campaigns into trials, leases them to runners, records each result once and groups the findings.
//
// A Server is stateless apart from its store: after a crash a new one takes over the same store, and runners that call again keep
// their leases. All time comes from Config.Clock and all randomness from Config.Rand.
package coordinator

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"

	"misstep/coordinator/campaign"
	"misstep/coordinator/catalogue"
	"misstep/coordinator/custody"
	"misstep/coordinator/notify"
	"misstep/coordinator/queue"
	"misstep/coordinator/store"
	"misstep/coordinator/store/batch"
	"misstep/coordinator/store/readcache"
	"misstep/coordinator/store/scoped"
	"misstep/coordinator/view"
	"misstep/known"
	misstepv1 "misstep/proto/misstep/v1"
)

// Config of a Server. Only Store is required.
type Config struct {
	// Store holds everything; the caller closes it after the last call.
	Store store.Store
	// Shared means that other coordinators may serve the same store, each with runners of its own.
	Shared bool
	// Clock returns the time; nil is time.Now.
	Clock func() time.Time
	// Rand is the source of ids; nil is crypto/rand.
	Rand io.Reader
	// LeaseTime is how long a runner may be silent before it loses its leases; 0 is one minute.
	LeaseTime time.Duration
	// SyncInterval is the time between two calls of a runner; 0 is two seconds. A large fleet is asked to call less often.
	SyncInterval time.Duration
	// Grace is the time that running trials still get after their campaign's time is over; 0 is 30 seconds.
	Grace time.Duration
	// Known holds the known bugs that findings are labelled with; the zero catalogue is empty.
	Known known.Catalogue
	// Strategies are the perturbation strategies that campaigns may name; nil leaves rejecting unknown ones to the runners.
	Strategies []campaign.Strategy
	// AuditShare is the share of runners' trials that are run once more elsewhere, from 0, which is none, to 1.
	AuditShare float64
	// Notify are the targets that are told what happens to findings while Run runs.
	Notify []notify.Target
	// Trees are the blobs of entries of the shared catalogue; nil refuses further entries.
	Trees *catalogue.Trees
	// Logger receives events; nil discards them.
	Logger *slog.Logger
	// Receipts, unless nil, prove which evidence a runner wrote that is not trusted with everything.
	Receipts *custody.Receipts
	// Unclaimed, unless nil, counts the evidence of such runners that no outcome names.
	Unclaimed *custody.Unclaimed
	// OwnerSlots is how many trials the runners of one owner may hold at once, where runners authenticate; 0 is no limit.
	OwnerSlots uint32
	// Metrics are told what the server does; nil are none.
	Metrics Metrics
}

// Server implements the LeaseService for runners, and the AdminService and the CatalogueService for people. It is safe for
// concurrent use.
//
// Queries read one state of the store and write nothing. Each call of a runner expires overdue leases and ends campaigns and
// reproductions whose time is over; so does Tick, which Run repeats in case that no runner calls.
type Server struct {
	misstepv1.UnimplementedLeaseServiceServer
	misstepv1.UnimplementedAdminServiceServer
	misstepv1.UnimplementedCatalogueServiceServer
	misstepv1.UnimplementedScheduleServiceServer

	config Config
	// store is that of the config; updates share transactions.
	store *batch.Store
	// id among the coordinators of a shared store; empty when it is not shared.
	id    string
	queue *queue.Queue
	view  view.Reader

	// overdue is true when the last transaction may have left leases that are overdue.
	overdue atomic.Bool

	mu sync.Mutex
	// recovered is true once the leases have got a full lease time after the start, or another coordinator was there; guarded by
	// mu.
	recovered bool
	// ticking is true while Run calls Tick; guarded by mu.
	ticking bool
	// served is the time of the last transaction; guarded by mu.
	served time.Time
	// draining asks all runners to finish; guarded by mu.
	draining bool
	// told is when this coordinator last told the others of its runners; guarded by mu.
	told time.Time
	// watched is when running reproductions were last compared with their time limit; only the beginnings of transactions use it.
	watched time.Time
	live    liveTable
	trust   trustTable
	// repeating decides which trials are run once more.
	repeating repeating
	quotas    quotaTable
	drained   drainedTable
	// ownerSlots bounds what the runners of one owner hold.
	ownerSlots ownerSlots
	// expansions of the campaigns that runners work on.
	expansions expansions
	// random guards the source of ids.
	random sync.Mutex
}

// New returns a server; it does nothing until one of its methods is called.
func New(c Config) *Server {
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.Rand == nil {
		c.Rand = rand.Reader
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Metrics == nil {
		c.Metrics = noMetrics{}
	}
	p := queue.DefaultPolicy()
	if c.LeaseTime > 0 {
		p.LeaseTime = c.LeaseTime
	}
	if c.Grace > 0 {
		p.Grace = c.Grace
	}
	c.LeaseTime = p.LeaseTime
	if c.SyncInterval <= 0 {
		c.SyncInterval = 2 * time.Second
	}
	c.Store = readcache.New(c.Store)
	s := &Server{config: c, trust: newTrustTable()}
	if c.AuditShare > 0 {
		s.repeating.key = make([]byte, 32)
		s.random.Lock()
		_, err := io.ReadFull(c.Rand, s.repeating.key)
		s.random.Unlock()
		if err != nil {
			panic(fmt.Sprintf("read randomness for a key: %v", err)) // as in newID
		}
	}
	s.ownerSlots.logged.First, s.ownerSlots.logged.Interval = 1, 10*time.Minute
	s.store = batch.New(c.Store, s.begin)
	s.store.Committed, s.store.Clock = c.Metrics.Batch, c.Clock
	s.queue = queue.New(p, func() string { return s.newID("L", 8) }, s.source)
	if c.Shared {
		s.id = s.newID("K", 8)
	}
	s.view = view.Reader{Queue: s.queue, Fleet: &s.live, Known: c.Known, Aside: s.trust.isAside, Memory: &view.Memory{}}
	return s
}

// MaxMessage is the maximum size in bytes of a message to a coordinator: an outcome has up to plausible.MaxBytes.
const MaxMessage = 64 << 20

// window is how many bytes of a message may be under way before their reader has taken the first ones.
const window = 1 << 20

// Ping is how a server probes silent connections, so that a runner that vanished holds none.
var Ping = keepalive.ServerParameters{Time: 30 * time.Second, Timeout: 10 * time.Second}

const (
	// maxStreams bounds the calls of one connection at a time: each may hold a message.
	maxStreams = 256
	// maxHeaders bounds the bytes of a call's headers, of which a credential is the largest part.
	maxHeaders = 64 << 10
)

// ServerOptions returns the options that a gRPC server needs to carry a coordinator's services. Clients may probe a silent
// connection every ten seconds.
func ServerOptions() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.MaxRecvMsgSize(MaxMessage), grpc.MaxSendMsgSize(MaxMessage),
		grpc.MaxConcurrentStreams(maxStreams), grpc.MaxHeaderListSize(maxHeaders),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second, PermitWithoutStream: true}),
		grpc.KeepaliveParams(Ping),
		// Windows that are measured cost each call a ping, and large buffers for each of ten thousand connections are most of the
		// memory.
		grpc.StaticStreamWindowSize(window), grpc.StaticConnWindowSize(window),
		grpc.ReadBufferSize(8 << 10), grpc.WriteBufferSize(8 << 10),
	}
}

// Register adds its services to a gRPC server.
func (s *Server) Register(r grpc.ServiceRegistrar) {
	misstepv1.RegisterLeaseServiceServer(r, s)
	misstepv1.RegisterAdminServiceServer(r, s)
	misstepv1.RegisterCatalogueServiceServer(r, s)
	misstepv1.RegisterScheduleServiceServer(r, s)
}

// Drain makes every response ask the runner to finish what it holds and to stop; no further leases are granted.
func (s *Server) Drain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.draining = true
}

func (s *Server) isDraining() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.draining
}

// tickInterval is how long Run waits between two ticks.
const tickInterval = time.Second

// Run calls Tick every second until ctx ends, for the first time after a second, so that a server opened only for queries writes
// nothing. Errors of the store are logged, and the next tick tries again. Beside that it notifies the targets.
func (s *Server) Run(ctx context.Context) {
	if len(s.config.Notify) > 0 {
		var notifying sync.WaitGroup
		defer notifying.Wait()
		for _, n := range s.notifiers() {
			notifying.Go(func() { n.Run(ctx) })
		}
	}
	var following sync.WaitGroup
	defer following.Wait()
	following.Go(func() { s.follow(ctx) })
	s.setTicking(true)
	defer s.setTicking(false)
	ticker := time.NewTicker(tickInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			_ = s.Tick(ctx) // logged
		}
	}
}

// followInterval is how often results are added to what lists of findings are made of: a list then adds those of this time only.
const followInterval = 5 * time.Second

// follow reads the results as they come, until ctx ends: the first list would read all, and each one those since the last list.
func (s *Server) follow(ctx context.Context) {
	ticker := time.NewTicker(followInterval)
	defer ticker.Stop()
	for {
		err := s.store.View(ctx, func(tx store.Tx) error {
			_, err := tx.Log()
			return err
		})
		if err != nil && ctx.Err() == nil {
			s.config.Logger.DebugContext(ctx, "cannot follow the results", slog.Any("error", err)) // a list says so, too
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// Baseline notes which findings there are, so that only what happens from now on is notified. It does nothing without targets, or
// when it was called for this store before.
func (s *Server) Baseline(ctx context.Context) error {
	for _, n := range s.notifiers() {
		if err := n.Round(ctx, false); err != nil {
			return err
		}
	}
	return nil
}

// Tick expires overdue leases, ends campaigns and reproductions whose time is over, and runs the schedules that are due. On a
// shared store it also exchanges with the other coordinators which runners there are.
func (s *Server) Tick(ctx context.Context) error {
	var fleet *misstepv1.Coordinators
	tell := s.mayTell()
	var waiting uint64
	kept := s.trust.keeping(s.config.Clock())
	err := s.updateWhole(ctx, func(tx store.Tx, now time.Time) (err error) {
		if err := s.runDue(tx, now); err != nil {
			return err
		}
		if err := s.queue.DropLate(tx, now); err != nil {
			return err
		}
		if waiting, err = tx.CountRepetitions(); err != nil {
			return err
		}
		if err := kept.write(tx); err != nil {
			return err
		}
		if tell {
			if fleet, err = s.tell(tx, now); err != nil {
				return err
			}
			// Another coordinator may have set an owner aside, or trusts it again, or got another quota, or drains a runner.
			err = errors.Join(s.trust.load(tx), s.quotas.load(tx), s.drained.load(tx))
		}
		return err
	})
	s.trust.kept(kept, err == nil)
	if err == nil {
		s.repeating.waiting.Store(int64(waiting)) //nolint:gosec // far below the limit
	}
	if err == nil && tell {
		s.live.heard(s.id, fleet)
	}
	// One portion after the other, each with the calls that wait.
	for err == nil && s.overdue.Load() {
		err = s.updateWhole(ctx, func(store.Tx, time.Time) error { return nil })
	}
	return err
}

// read runs f in a transaction that sees one state and cannot write: that of the project in which the call is made, as its caller
// sees it. With update it is the one place that keeps projects apart and hides findings; the interceptor of package access has held
// the call to its role there.
func (s *Server) read(ctx context.Context, f func(tx store.Tx, now time.Time) error) error {
	return s.readWhole(ctx, func(tx store.Tx, now time.Time) error { return f(seenBy(ctx, tx, now, scoped.See), now) })
}

// readWhole is read for the coordinator's own work, which is in all projects. What it reads goes into the answers of those calls
// only that need their role in every project.
func (s *Server) readWhole(ctx context.Context, f func(tx store.Tx, now time.Time) error) error {
	return s.toStatus(ctx, s.store.View(ctx, func(tx store.Tx) error { return f(tx, s.config.Clock()) }))
}

// update runs f in a transaction in the project of the call, after everything that is due by now. Other updates may share the
// transaction.
func (s *Server) update(ctx context.Context, f func(tx store.Tx, now time.Time) error) error {
	return s.updateWhole(ctx, func(tx store.Tx, now time.Time) error { return f(seenBy(ctx, tx, now, scoped.Change), now) })
}

// updateWhole is update for the coordinator's own work, which is in all projects.
func (s *Server) updateWhole(ctx context.Context, f func(tx store.Tx, now time.Time) error) error {
	return s.updateFor(ctx, "", f)
}

// updateFor is updateWhole for an f that reads the leases of a runner.
func (s *Server) updateFor(ctx context.Context, runner string, f func(tx store.Tx, now time.Time) error) error {
	err := s.store.UpdateFor(ctx, runner, func(tx store.Tx) error { return f(tx, s.config.Clock()) })
	if err == nil {
		s.mu.Lock()
		s.recovered, s.served = true, s.config.Clock()
		s.mu.Unlock()
	}
	return s.toStatus(ctx, err)
}

// begin is called before a transaction is asked for and returns what it begins with: what was due when its first call arrived. By
// the time at which it begins, leases may be overdue that calls in it, or behind it, come to renew.
func (s *Server) begin(arrived time.Time) func(store.Tx) error {
	asked := s.config.Clock()
	return func(tx store.Tx) error {
		now := s.config.Clock() // the transaction may have waited for the store, which was away
		s.mu.Lock()
		recovered := s.recovered
		s.mu.Unlock()
		if !recovered || s.wasAway(asked, now) {
			if err := s.recover(tx, now); err != nil {
				return err
			}
		}
		more, err := s.queue.Advance(tx, arrived)
		if err != nil {
			return err
		}
		s.overdue.Store(more)
		if now.Sub(s.watched) < timeCheckInterval {
			return nil
		}
		s.watched = now
		return s.watchTimes(tx, now)
	}
}

// toStatus gives errors of the store a gRPC code, and logs those for which the store is at fault.
func (s *Server) toStatus(ctx context.Context, err error) error {
	answer := store.Status(err)
	if _, known := status.FromError(err); !known && status.Code(answer) == codes.Unavailable {
		s.config.Logger.ErrorContext(ctx, "the store failed", slog.Any("error", err))
	}
	return answer
}

// newID returns prefix and n random bytes in hex.
func (s *Server) newID(prefix string, n int) string {
	raw := make([]byte, n)
	s.random.Lock()
	defer s.random.Unlock()
	if _, err := io.ReadFull(s.config.Rand, raw); err != nil {
		panic(fmt.Sprintf("read randomness for an id: %v", err)) // crypto/rand never fails; a test's source must not either
	}
	return prefix + hex.EncodeToString(raw)
}
