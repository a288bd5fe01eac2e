// Package coordinator turns campaigns into trials, hands them to runners as leases, records each result once and groups what
// was found.
//
// A Server is stateless apart from its store: one that was killed is replaced by a new one on the same store, and runners
// that call again keep their leases. All time comes from Config.Clock and all randomness from Config.Rand.
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
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"misstep/coordinator/campaign"
	"misstep/coordinator/queue"
	"misstep/coordinator/store"
	"misstep/coordinator/view"
	"misstep/corpus/known"
	misstepv1 "misstep/proto/misstep/v1"
)

// Config of a Server. Only Store is required.
type Config struct {
	// Store that holds everything; the caller closes it after the last call.
	Store store.Store
	// Clock tells the time; nil is time.Now.
	Clock func() time.Time
	// Rand gives ids; nil is crypto/rand.
	Rand io.Reader
	// LeaseTime that a runner may be silent; 0 is one minute.
	LeaseTime time.Duration
	// SyncInterval between two calls of a runner; 0 is two seconds. A large fleet is asked to call less often.
	SyncInterval time.Duration
	// Grace that running trials have after their campaign's time; 0 is 30 seconds.
	Grace time.Duration
	// Known bugs that findings are labelled with; the zero catalogue knows none.
	Known known.Catalogue
	// Strategies of perturbation that campaigns may name; nil leaves it to the runners to refuse them.
	Strategies []campaign.Strategy
	// Logger; nil is silent.
	Logger *slog.Logger
}

// Server implements the LeaseService for runners and the AdminService for people. It is safe for concurrent use.
//
// Queries read one state of the store and write nothing. What the passing of time asks for (leases that were lost, campaigns and
// reproductions whose time is over) is done in each call of a runner and by Tick, which Run repeats for a server whose runners
// may all be gone.
type Server struct {
	misstepv1.UnimplementedLeaseServiceServer
	misstepv1.UnimplementedAdminServiceServer

	config Config
	queue  *queue.Queue
	view   view.Reader

	mu sync.Mutex
	// recovered says that leases were given a new lease time after the start; guarded by mu.
	recovered bool
	// draining asks all runners to finish; guarded by mu.
	draining bool
	// watched is when running reproductions were last compared with their time limit; guarded by mu.
	watched time.Time
	live    liveTable
}

// New returns a server; it does no work until it is called, or is Run.
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
	s := &Server{config: c}
	s.queue = queue.New(p, func() string { return s.newID("L", 8) }, s.source)
	s.view = view.Reader{Queue: s.queue, Fleet: &s.live, Known: c.Known}
	return s
}

// MaxMessage is the size in bytes of a message that a coordinator takes: an outcome has up to 64 mismatches with two stacks each.
const MaxMessage = 64 << 20

// ServerOptions are what a gRPC server needs to carry a coordinator's services.
func ServerOptions() []grpc.ServerOption {
	return []grpc.ServerOption{grpc.MaxRecvMsgSize(MaxMessage), grpc.MaxSendMsgSize(MaxMessage)}
}

// Register adds both services to a gRPC server.
func (s *Server) Register(r grpc.ServiceRegistrar) {
	misstepv1.RegisterLeaseServiceServer(r, s)
	misstepv1.RegisterAdminServiceServer(r, s)
}

// Drain makes every answer to a runner ask it to finish what it holds and to stop; no leases are given any more.
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

// Run does what the passing of time asks for until ctx ends, for the first time after a second: one that is opened only to be
// read from stores nothing. A store that fails is logged and asked again.
func (s *Server) Run(ctx context.Context) {
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

// Tick does once what the passing of time asks for by now.
func (s *Server) Tick(ctx context.Context) error {
	return s.update(ctx, func(store.Tx, time.Time) error { return nil })
}

// read runs f in a transaction that sees one state and cannot write.
func (s *Server) read(ctx context.Context, f func(tx store.Tx, now time.Time) error) error {
	now := s.config.Clock()
	return s.toStatus(s.config.Store.View(ctx, func(tx store.Tx) error { return f(tx, now) }))
}

// update runs f in a transaction in which everything that is due by now has been done.
func (s *Server) update(ctx context.Context, f func(tx store.Tx, now time.Time) error) error {
	now := s.config.Clock()
	s.mu.Lock()
	recovered := s.recovered
	watch := now.Sub(s.watched) >= timeCheckInterval
	if watch {
		s.watched = now
	}
	s.mu.Unlock()
	err := s.config.Store.Update(ctx, func(tx store.Tx) error {
		if !recovered {
			if err := s.queue.Recover(tx, now); err != nil {
				return fmt.Errorf("take over the leases of the coordinator before: %w", err)
			}
		}
		if err := s.queue.Advance(tx, now); err != nil {
			return err
		}
		if watch {
			if err := s.watchTimes(tx, now); err != nil {
				return err
			}
		}
		return f(tx, now)
	})
	if err == nil && !recovered {
		s.mu.Lock()
		s.recovered = true
		s.mu.Unlock()
	}
	return s.toStatus(err)
}

// toStatus gives errors of the store a code: the caller of ours did nothing wrong and may call again.
func (s *Server) toStatus(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := status.FromError(err); ok {
		return err
	}
	switch {
	case errors.Is(err, context.Canceled):
		return status.Error(codes.Canceled, err.Error())
	case errors.Is(err, context.DeadlineExceeded):
		return status.Error(codes.DeadlineExceeded, err.Error())
	case errors.Is(err, store.ErrNotFound):
		return status.Error(codes.NotFound, err.Error())
	}
	s.config.Logger.Error("the store failed", slog.Any("error", err))
	return status.Error(codes.Unavailable, err.Error())
}

// newID returns prefix and n random bytes in hex.
func (s *Server) newID(prefix string, n int) string {
	raw := make([]byte, n)
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := io.ReadFull(s.config.Rand, raw); err != nil {
		panic(fmt.Sprintf("read randomness for an id: %v", err)) // crypto/rand never fails; a test's source must not either
	}
	return prefix + hex.EncodeToString(raw)
}
