package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"

	"misstep/app/limits"
	"misstep/app/observe"
	"misstep/app/station"
	"misstep/app/transport"
	"misstep/bench"
	"misstep/bundle/share"
	"misstep/coordinator"
	"misstep/coordinator/access"
	misstepv1 "misstep/proto/misstep/v1"
)

// Whom a coordinator lets in. These cells have the whole coordinator of the command, with its metrics, where others have what takes
// in results only.
const (
	// guardedByNothing is plain text on the loopback interface, where nobody is asked.
	guardedByNothing = "nothing"
	// guardedByAll is TLS with a certificate for each runner, roles, limits of rates, receipts and the audit log.
	guardedByAll = "TLS and roles"
)

const (
	// guardedRunners is the fleet with which that is measured, guardedPairs how often each is measured.
	guardedRunners, guardedPairs = 1000, 3
	// guardedSize of the campaigns: submitting has a limit.
	guardedSize = uint64(20_000)
)

// measureGuarded measures what letting in only some costs, side by side, in the order a b, b a, a b.
func (r *results) measureGuarded(ctx context.Context, db database) error {
	pair := []string{guardedByNothing, guardedByAll}
	for range guardedPairs {
		for _, guarded := range pair {
			r.planned++
			c := cell{Store: db.name, Coordinators: 1, Runners: guardedRunners, Size: guardedSize, Guarded: guarded}
			if err := r.add(ctx, db, c); err != nil {
				return err
			}
		}
		slices.Reverse(pair)
	}
	return nil
}

// guardedGoals are the least shares that are left, of each side the median: of the rate, and of what the processor time for a call
// allows, of both ends, which tells more on a machine that does something else as well.
func (r *results) guardedGoals() []bench.Goal {
	median := func(guarded string, value func(cell) float64) float64 {
		var all []float64
		for _, c := range r.of(func(c cell) bool { return c.Guarded == guarded }) {
			all = append(all, value(c))
		}
		return median(all)
	}
	left := func(value func(cell) float64) float64 {
		return median(guardedByAll, value) / median(guardedByNothing, value)
	}
	const most = "with TLS, certificates, roles, limits and audit log, of that in plain text"
	return []bench.Goal{
		{Name: "rate " + most, Goal: 0.9, AtLeast: true, Measured: left(func(c cell) float64 { return c.PerSecond })},
		{
			Name: "calls for the same processor time " + most, Goal: 0.9, AtLeast: true,
			Measured: left(func(c cell) float64 { return 1 / (c.CPU + c.RunnersCPU).Seconds() }),
		},
	}
}

// serveGuarded runs a coordinator as the command does.
func serveGuarded(ctx context.Context, s settings) (ready, func() usage, func(), error) {
	fail := func(err error) (ready, func() usage, func(), error) { return ready{}, nil, nil, err }
	coordinator.TuneCollector()
	logger := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	metrics := observe.NewCoordinator()
	rates, err := limits.Rates(nil)
	if err != nil {
		return fail(err)
	}
	place := station.Place{Dir: s.Store, Limits: limits.New(rates, metrics.Limited)}
	first := ready{}
	if s.Guarded == guardedByAll {
		if err := guard(&place, s, logger); err != nil {
			return fail(err)
		}
		if first, err = firstToken(ctx, s, logger); err != nil {
			return fail(err)
		}
	}
	c, err := station.Open(ctx, place, coordinator.Config{Logger: logger, Metrics: metrics}, share.Policy{})
	if err != nil {
		return fail(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fail(errors.Join(err, c.Close()))
	}
	stopProfile, err := profile(s.Profile)
	if err != nil {
		return fail(errors.Join(err, c.Close()))
	}
	serving, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- c.Serve(serving, listener) }()
	first.Address = listener.Addr().String()
	return first, ownUsage, func() {
		stopProfile()
		stop()
		if err := <-done; err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}, nil
}

// guard lets runners with certificates of the settings' authority in, and whoever has a token.
func guard(place *station.Place, s settings, logger *slog.Logger) error {
	dir := filepath.Join(s.Store, "tls")
	files := transport.Files{Certificate: filepath.Join(dir, "tls.crt"), Key: filepath.Join(dir, "tls.key")}
	files.CA = files.Certificate
	if err := errors.Join(
		os.MkdirAll(dir, 0o700), os.WriteFile(files.Certificate, s.Authority, 0o600),
		os.WriteFile(files.Key, s.AuthorityKey, 0o600),
	); err != nil {
		return fmt.Errorf("write certificates: %w", err)
	}
	source, err := transport.Open(files, logger)
	if err != nil {
		return err
	}
	ids, err := transport.ParseRunnerIDs([]string{transport.OwnIDs})
	if err != nil {
		return err
	}
	place.Options = source.ServerOptions(coordinator.Ping)
	place.Accounts.Ask = true
	place.Access.Authenticators = []access.Authenticator{source.Authenticator(ids)}
	return nil
}

// firstToken makes a token with which campaigns are submitted.
func firstToken(ctx context.Context, s settings, logger *slog.Logger) (ready, error) {
	people, closeAccess, err := station.OpenAccess(ctx, s.Store, logger)
	if err != nil {
		return ready{}, err
	}
	defer closeAccess()
	made, err := people.CreateToken(ctx, &misstepv1.CreateTokenRequest{
		Name: "bench", Grants: []*misstepv1.Grant{{Role: misstepv1.Role_ROLE_HUNTER}},
	})
	return ready{Certificate: s.Authority, Token: made.GetSecret()}, err
}
