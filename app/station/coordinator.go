package station

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"

	"misstep/app/limits"
	"misstep/app/observe"
	"misstep/app/retention"
	"misstep/bundle/share"
	"misstep/coordinator"
	"misstep/coordinator/access"
	"misstep/coordinator/accounts"
	"misstep/coordinator/campaign"
	"misstep/coordinator/catalogue"
	"misstep/coordinator/custody"
	"misstep/coordinator/intake"
	"misstep/coordinator/store"
	"misstep/coordinator/store/stores"
	"misstep/corpus"
	"misstep/corpus/overlay"
	"misstep/corpus/remote"
	"misstep/known"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/schedule"
)

// Coordinator is a coordinator on a folder: its gRPC server, ready for listeners.
type Coordinator struct {
	server *grpc.Server
	health *health.Server
	admin  *coordinator.Server
	store  store.Store
	blobs  corpus.Store
	// stopRunning ends the coordinator's work beside its calls and waits for its end.
	stopRunning func()
	// unlock lets another one serve the store.
	unlock func()
}

// Place is where a coordinator keeps everything, and who may call it.
type Place struct {
	// Dir is its folder, with the store.
	Dir string
	// Store is the URL of the store (see stores.Open) in place of the folder's own; empty is the folder's.
	Store string
	// Blobs is the location of the bucket with its blobs; empty keeps them where they were, or else in the folder.
	Blobs string
	// Adopt makes the blobs belong to the store although they belong to another one.
	Adopt bool
	// Retention is what it removes by itself.
	Retention retention.Plan
	// Access tells callers beside tokens and people, such as runners by their certificates.
	Access access.Options
	// Limits of callers' rates; nil is none.
	Limits *limits.Limiter
	// Options of its gRPC server, such as those that make it secure.
	Options []grpc.ServerOption
	// Accounts are the tokens and people, and the log of what callers did.
	Accounts Accounts
	// Patience is how long Open waits for a database or an object store that does not answer; 0 does not wait.
	Patience time.Duration
}

// Accounts say whether callers are asked who they are. The zero value lets everybody who can connect do everything, unless
// Place.Access has authenticators.
type Accounts struct {
	// Ask who calls.
	Ask bool
	// Provider is where people log in, which asks too; nil lets no people in.
	Provider *accounts.Provider
	// KeepAudit is how long the audit log is kept; 0 is a year.
	KeepAudit time.Duration
}

// Open opens or makes the folder of a coordinator that serves runners: the store, and the corpus. The sources extra are served as
// well. Shared bundles must satisfy the policy. If the configuration's metrics are an observe.Coordinator, they also count calls
// and time transactions. A database file that another coordinator or a hunt serves is refused.
func Open(
	ctx context.Context, place Place, config coordinator.Config, policy share.Policy, extra ...corpus.Source,
) (*Coordinator, error) {
	unlock, err := lockStore(cmp.Or(place.Store, place.Dir))
	if err != nil {
		return nil, err
	}
	c, err := open(ctx, place, config, policy, extra...)
	if err != nil {
		unlock()
		return nil, err
	}
	c.unlock = unlock
	return c, nil
}

// open is Open for whoever serves no runners, beside those who do.
func open(
	ctx context.Context, place Place, config coordinator.Config, policy share.Policy, extra ...corpus.Source,
) (*Coordinator, error) {
	logger := config.Logger
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	before, err := lookAt(place.Dir, place.Store)
	if err != nil {
		return nil, err
	}
	if err := stores.CheckRestored(place.Dir); err != nil {
		return nil, err
	}
	url := cmp.Or(place.Store, place.Dir)
	st, err := await(ctx, "database", place.Patience, logger, func() (store.Store, error) {
		return stores.OpenLogged(ctx, url, logger)
	})
	if err != nil {
		return nil, err
	}
	config.Shared = stores.Shared(url)
	if err := os.MkdirAll(place.Dir, 0o755); err != nil {
		return nil, errors.Join(fmt.Errorf("make folder: %w", err), st.Close())
	}
	kept, err := await(ctx, "object store", place.Patience, logger, func() (Blobs, error) {
		return OpenBlobs(ctx, place.Dir, place.Blobs)
	})
	if err != nil {
		return nil, errors.Join(err, st.Close())
	}
	owned, err := before.own(ctx, st, place, kept, logger)
	if err != nil {
		return nil, errors.Join(err, st.Close())
	}
	blobs := overlay.New(kept.Store, extra...)
	config.Trees = &catalogue.Trees{Kept: kept.Store, All: blobs}
	config.Store, config.Known, config.Strategies = st, known.Default(), Strategies()
	options := slices.Concat([]grpc.ServerOption{intake.ServerOption()}, coordinator.ServerOptions(), place.Options,
		observe.TraceServerOptions())
	metrics, observed := config.Metrics.(*observe.Coordinator)
	if observed {
		config.Store = metrics.Store(st)
		options = append(options, metrics.ServerOptions()...)
	}
	who := accounts.Config{
		Store: config.Store, Clock: config.Clock, Provider: place.Accounts.Provider, Asked: place.Asks(), Logger: logger,
		KeepAudit: place.Accounts.KeepAudit,
	}
	if observed {
		who.Limited = metrics.Limited
	}
	people := accounts.New(who)
	options = append(options, access.ServerOptions(place.access(people))...) // after the metrics, which count what lacks a role
	if place.Limits != nil {
		options = append(options, place.Limits.ServerOptions()...)
	}
	guarded := place.Asks()
	if guarded {
		if config.Receipts, err = custody.OpenReceipts(ctx, config.Store); err != nil {
			return nil, errors.Join(err, st.Close())
		}
	}
	server := grpc.NewServer(options...)
	c := coordinator.New(config)
	reading := intake.Registrar(server, observe.TraceMessages(st))
	c.Register(reading)
	misstepv1.RegisterAccessServiceServer(reading, people)
	if err := c.Baseline(ctx); err != nil {
		return nil, errors.Join(err, st.Close())
	}
	answers := []remote.Option{remote.Shared(kept.Index, policy.Check)}
	if kept.Bucket != nil {
		answers = append(answers, remote.Signing(kept.Bucket))
	}
	served := remote.NewServer(blobs, answers...)
	if guarded {
		served = custody.NewService(served, custody.NewGuard(c.LeasesOf, blobs, time.Now, config.Unclaimed), config.Receipts)
	}
	misstepv1.RegisterCorpusServiceServer(reading, c.Discreet(served))
	serving := health.NewServer()
	watchHealth := observe.Health(server, reading, serving, c.CheckReadiness)
	if observed {
		metrics.Load(server, c.Load)
	}
	work, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { c.Run(work) })
	running.Go(func() { watchHealth(work) })
	running.Go(func() { people.Run(work) })
	keeper := retention.Keeper{
		Plan: place.Retention, Store: st, Blobs: kept.Sweeper(), Shared: kept.Index, Clock: time.Now, Logger: logger,
		Dir: place.Dir, Gentle: true, Owned: owned,
	}
	running.Go(func() { keeper.Run(work) })
	stop := func() {
		cancel()
		running.Wait()
	}
	return &Coordinator{
		server: server, health: serving, admin: c, store: st, blobs: blobs, stopRunning: stop, unlock: func() {},
	}, nil
}

// Asks reports whether callers are asked who they are.
func (p Place) Asks() bool {
	return p.Accounts.Ask || p.Accounts.Provider != nil || len(p.Access.Authenticators) > 0
}

// access returns the options of a server. A token or a login counts before a certificate: whoever sends one means it, and may need
// a certificate only to connect.
func (p Place) access(people *accounts.Service) access.Options {
	o := p.Access
	if p.Asks() {
		o.Authenticators = slices.Concat([]access.Authenticator{people.Authenticate}, o.Authenticators)
	}
	if o.Audit == nil {
		o.Audit = people.Record
	}
	return o
}

// Close stops the server and closes the store.
func (c *Coordinator) Close() error {
	c.server.Stop()
	c.stopRunning()
	defer c.unlock()
	return c.store.Close()
}

// CheckReadiness returns an error unless the store answers.
func (c *Coordinator) CheckReadiness(ctx context.Context) error { return c.admin.CheckReadiness(ctx) }

// PutKnownBugs keeps known bugs of one's own in the store, and returns what is doubtful about them, a line each.
func (c *Coordinator) PutKnownBugs(ctx context.Context, bugs []*misstepv1.KnownBug) ([]string, error) {
	r, err := c.admin.PutKnownBugs(ctx, &misstepv1.PutKnownBugsRequest{Bugs: bugs})
	return r.GetWarnings(), err
}

// lastCalls is how long calls that have begun may go on when a coordinator stops. What comes after them takes less than two
// seconds, so that it ends within five.
const lastCalls = 3 * time.Second

// Serve serves on a listener until the context ends, then closes the store. Clients are told at once that this coordinator does not
// serve any more and go to another one, if there is one; calls that have begun are answered within lastCalls. Connections on which
// nobody calls do not delay the end.
func (c *Coordinator) Serve(ctx context.Context, listener net.Listener) error {
	accepted := newConnections(listener)
	stop := context.AfterFunc(ctx, func() {
		c.health.Shutdown()
		accepted.hangUp(false)
		late := time.AfterFunc(lastCalls, func() {
			accepted.hangUp(true)
			c.server.Stop()
		})
		defer late.Stop()
		c.server.GracefulStop()
	})
	defer stop()
	err := c.server.Serve(accepted)
	return errors.Join(err, c.Close())
}

// HuntTiming configures a coordinator whose runner is in the same process: short rounds, and leases that expire soon after a
// restart.
func HuntTiming(logger *slog.Logger) coordinator.Config {
	return coordinator.Config{Logger: logger, LeaseTime: 10 * time.Second, SyncInterval: 500 * time.Millisecond}
}

// Strategies are the perturbing strategies in the form that the coordinator takes.
func Strategies() []campaign.Strategy {
	var all []campaign.Strategy
	for _, s := range schedule.Strategies() {
		one := campaign.Strategy{Name: s.Name}
		for _, p := range s.All() {
			one.Parameters = append(one.Parameters, campaign.Parameter{
				Name: p.Name, Unit: p.Unit, Min: p.Min, Max: p.Max, Default: p.Default, Whole: p.Whole,
			})
		}
		all = append(all, one)
	}
	return all
}
