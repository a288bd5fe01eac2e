package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime/pprof"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"misstep/app/observe"
	"misstep/coordinator"
	"misstep/coordinator/intake"
	"misstep/coordinator/store/stores"
	"misstep/runner/sim/fleet"
)

// serve runs a coordinator.
func serve(ctx context.Context, s settings) (ready, func() usage, func(), error) {
	fail := func(err error) (ready, func() usage, func(), error) { return ready{}, nil, nil, err }
	coordinator.TuneCollector() // as the command does
	logger := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	stopTracing := func() {}
	if s.Spans != "" {
		err := os.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://"+s.Spans)
		if err != nil {
			return fail(err)
		}
		if stopTracing, err = observe.StartTracing(ctx, "misstep-coordinator", logger); err != nil {
			return fail(err)
		}
	}
	st, err := stores.Open(ctx, s.Store)
	if err != nil {
		return fail(err)
	}
	tls, certificate, err := fleet.Certificate()
	if err != nil {
		return fail(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fail(err)
	}
	config := coordinator.Config{Store: st, Shared: stores.Shared(s.Store), Logger: logger}
	options := append(coordinator.ServerOptions(), grpc.Creds(credentials.NewTLS(tls)))
	options = append(options, observe.TraceServerOptions()...)
	if s.Observed != observedNothing {
		metrics := observe.NewCoordinator()
		config.Store, config.Metrics = metrics.Store(st), metrics
		options = append(options, metrics.ServerOptions()...)
	}
	c := coordinator.New(config)
	server := grpc.NewServer(options...)
	c.Register(intake.Registrar(server, observe.TraceMessages(st)))
	stopProfile, err := profile(s.Profile)
	if err != nil {
		return fail(err)
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { c.Run(ctx) })
	running.Go(func() { _ = server.Serve(listener) })
	stop := func() {
		stopProfile()
		server.Stop()
		cancel()
		running.Wait()
		stopTracing()
		_ = st.Close()
	}
	return ready{Address: listener.Addr().String(), Certificate: certificate}, ownUsage, stop, nil
}

// profile writes a processor profile to a file until stop is called; none without a file.
func profile(path string) (stop func(), err error) {
	if path == "" {
		return func() {}, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("write a profile: %w", err)
	}
	file, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("write a profile: %w", err)
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		return nil, fmt.Errorf("write a profile: %w", err)
	}
	return func() {
		pprof.StopCPUProfile()
		_ = file.Close()
	}, nil
}
