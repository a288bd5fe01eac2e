package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/dustin/go-humanize"

	"misstep/app/bundles"
	"misstep/app/limits"
	"misstep/app/observe"
	"misstep/app/retention"
	"misstep/app/station"
	"misstep/app/transport"
	"misstep/app/web"
	"misstep/coordinator"
	"misstep/coordinator/custody"
	"misstep/coordinator/plausible"
	"misstep/coordinator/store/stores"
	"misstep/internal/private"
)

type coordinatorCommand struct {
	serveTLSFlags
	trustFlags
	knownFlags
	Listen     string             `address:"HOST:PORT" help:"Address to serve on." default:"127.0.0.1:7867" placeholder:"HOST:PORT"`
	Dir        string             `help:"Folder of the store and the corpus; created if missing." required:"" type:"path" placeholder:"DIR"`
	Store      string             `help:"Store in place of the folder's own, e.g. postgres://USER@HOST/DATABASE, which several coordinators may share. The password belongs into PGPASSWORD or ~/.pgpass." placeholder:"URL"`
	Blobs      string             `help:"Bucket of an S3-compatible store for evidence, JDKs and workloads, to which runners then have direct access: ${bucket} (default: where they were, else in the folder)." env:"MISSTEP_BLOBS" placeholder:"LOCATION"`
	Adopt      bool               `name:"adopt-blobs" help:"Take over blobs that belong to another store, which is gone for good: from then on only what this store refers to is kept."`
	LeaseTime  time.Duration      `within:"[1s,)" help:"How long a runner may be silent before its trials are given to another." default:"30s"`
	RateLimit  map[string]float64 `help:"Calls a second that each caller who says who they are may make from one host, by class; 0 is no limit (default: lease=100;blob=200;read=50;change=10)." placeholder:"CLASS=CALLS;…"`
	AuditShare float64            `within:"[0,1]" help:"Share of trials that a runner of another owner runs once more, where callers are asked who they are, so that owners whose results differ from the others' beyond chance are set aside." default:"0.02" placeholder:"SHARE"`
	OwnerSlots uint32             `within:"[0,)" help:"Trials that the runners of one owner may hold at once, where runners say who they are; 0 is no limit." default:"1024" placeholder:"TRIALS"`
	Unclaimed  bytesFlag          `name:"owner-unclaimed" help:"Size of the evidence that such runners may write on a day in UTC without an outcome that names it." default:"8GiB" placeholder:"SIZE"`
	retentionFlags
	GCEvery time.Duration `name:"gc-every" within:"[1m,)" help:"Time between two rounds that let trials age by --keep-trials and --keep-evidence, and remove blobs that nothing refers to (default: 6h; with --store no rounds, since one of several coordinators does it)." placeholder:"TIME"`
	NoGC    bool          `name:"no-gc" help:"No such rounds: what nothing refers to stays until misstep store vacuum."`
	GCGrace time.Duration `name:"gc-grace" within:"[1h40m,)" help:"Keep blobs that were stored or asked for within this time." default:"168h" placeholder:"TIME"`
	notifyFlags
	httpFlag
	webFlags
	peopleFlags
}

// httpFlag serves what operators look at.
type httpFlag struct {
	HTTP string `name:"http" address:"HOST:PORT" help:"Serve /metrics (Prometheus), /healthz, /readyz and /debug/pprof/ by plain HTTP on this address (default: nowhere)." placeholder:"HOST:PORT"`
}

// serve serves the endpoints, if they are asked for, until stop is called.
func (f httpFlag) serve(logger *slog.Logger, endpoints observe.Endpoints) (stop func(), err error) {
	if f.HTTP == "" {
		return func() {}, nil
	}
	endpoints.Logger = logger
	at, stop, err := endpoints.Start(f.HTTP)
	if err != nil {
		return nil, err
	}
	if host, _, err := net.SplitHostPort(f.HTTP); err == nil && !private.IsLoopback(host) {
		logger.Warn("metrics and profiles are served beyond this host, to everybody: keep the network private", "http", f.HTTP)
	}
	logger.Info("metrics served", "http", at)
	return stop, nil
}

// startPatience is how long a coordinator waits at its start for a database or object store that does not answer.
const startPatience = 5 * time.Minute

// Run serves until it is interrupted.
func (c *coordinatorCommand) Run(ctx context.Context, e *env) error {
	trees, err := e.installation().Trees()
	if err != nil {
		return err
	}
	bugs, err := c.bugs()
	if err != nil {
		return err
	}
	logger := e.info()
	policy, err := bundles.Policy(c.Signers)
	if err != nil {
		return err
	}
	targets, err := c.targets()
	if err != nil {
		return err
	}
	plan, err := c.plan()
	if err != nil {
		return err
	}
	coordinator.TuneCollector()
	metrics := observe.NewCoordinator()
	config := coordinator.Config{
		Logger: logger, LeaseTime: c.LeaseTime, SyncInterval: c.LeaseTime / 10, Notify: targets, Metrics: metrics,
	}
	if stores.HasPassword(c.Store) {
		logger.Warn("others on this machine see the password in --store in the list of processes",
			"remedy", "give it in PGPASSWORD or ~/.pgpass")
	}
	people, err := c.accounts()
	if err != nil {
		return err
	}
	rates, err := limits.Rates(c.RateLimit)
	if err != nil {
		return fmt.Errorf("--rate-limit %w", err)
	}
	secure, ids, err := c.secure(logger)
	if err != nil {
		return err
	}
	place := station.Place{
		Dir: c.Dir, Store: c.Store, Blobs: c.Blobs, Adopt: c.Adopt, Retention: plan, Patience: startPatience,
		Accounts: people, Limits: limits.New(rates, metrics.Limited),
	}
	if secure != nil {
		place.Options = secure.ServerOptions(coordinator.Ping)
		metrics.Certificates(secure.EachExpiry)
		go secure.Watch(ctx.Done())
	}
	if c.ClientCA != "" {
		place.Access.Authenticators = append(place.Access.Authenticators, secure.Authenticator(ids))
	}
	if place.Asks() {
		config.AuditShare, config.OwnerSlots = c.AuditShare, c.OwnerSlots
		if n := uint64(c.Unclaimed.n); n < plausible.MostEvidence {
			return fmt.Errorf("--owner-unclaimed %s: expected at least %s, since one trial may leave as much evidence",
				humanize.IBytes(n), humanize.IBytes(plausible.MostEvidence))
		}
		config.Unclaimed = custody.NewUnclaimed(uint64(c.Unclaimed.n), time.Now)
	}
	door := station.Door{
		TLS: secure != nil, Authenticates: place.Asks(), PlainTextNetwork: c.PlainTextNetwork,
	}
	if err := door.CheckListen(c.Listen); err != nil {
		return err
	}
	s, err := station.Open(ctx, place, config, policy, trees...)
	if err != nil {
		return err
	}
	stop, err := c.serve(logger, observe.Endpoints{Metrics: metrics.Registry, Ready: s.CheckReadiness})
	if err != nil {
		return errors.Join(err, s.Close())
	}
	defer stop()
	if len(bugs) > 0 {
		warnings, err := s.PutKnownBugs(ctx, bugs)
		if err != nil {
			return errors.Join(err, s.Close())
		}
		for _, w := range warnings {
			logger.Warn("known bug", "warning", w)
		}
	}
	listener, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return errors.Join(fmt.Errorf("listen on %s: %w; choose another --listen", c.Listen, err), s.Close())
	}
	if !door.TLS && door.PlainTextNetwork {
		logger.Warn("--plain-text-network: connections are neither encrypted nor authenticated, keep the network private",
			"listen", c.Listen)
	}
	closePages, err := c.pages(e, s, place.Asks(), secure)
	if err != nil {
		return errors.Join(err, listener.Close(), s.Close())
	}
	defer closePages()
	logger.Info("coordinator serves", "listen", listener.Addr().String(), "tls", door.TLS, "dir", c.Dir, "store",
		stores.Redacted(cmp.Or(c.Store, c.Dir)))
	return s.Serve(ctx, listener)
}

// pages serves the coordinator's pages, if they are asked for, until closed.
func (c *coordinatorCommand) pages(e *env, s *station.Coordinator, asks bool, secure *transport.Source) (closed func(), err error) {
	if c.Web == "" {
		return func() {}, nil
	}
	st, err := s.Connect()
	if err != nil {
		return nil, err
	}
	var config *tls.Config
	if secure != nil {
		config = secure.ForBrowsers()
	}
	o := c.options(e, st, "--coordinator "+c.Listen)
	o.Asks, o.TLS = asks, secure != nil
	url, stop, err := c.start(web.New(o), config)
	if err != nil {
		st.Close()
		return nil, err
	}
	e.info().Info("pages served", "web", url)
	return func() {
		stop()
		st.Close()
	}, nil
}

// gcEvery is the time between two rounds of a coordinator that has its store for itself.
const gcEvery = 6 * time.Hour

// plan is what the coordinator removes by itself.
func (c *coordinatorCommand) plan() (retention.Plan, error) {
	plan := retention.Plan{Rules: c.rules(), Every: c.GCEvery, Grace: c.GCGrace}
	switch {
	case c.NoGC && plan.Every > 0:
		return plan, errors.New("--no-gc and --gc-every exclude each other")
	case plan.Every == 0 && c.Store == "" && !c.NoGC:
		plan.Every = gcEvery
	case plan.Every == 0 && plan.Rules != (retention.Rules{}):
		return plan, errors.New("--keep-trials and --keep-evidence need --gc-every TIME, e.g. --gc-every 6h")
	}
	return plan, nil
}
