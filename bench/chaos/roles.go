package main

import (
	"context"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"misstep/app/station"
	"misstep/bundle/share"
	"misstep/coordinator"
	"misstep/corpus"
	"misstep/corpus/patient"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/runner"
	"misstep/runner/sim"
)

// Times of the services: short, so that a fault is over soon.
const (
	leaseTime    = 3 * time.Second
	syncInterval = 200 * time.Millisecond
	drainTime    = time.Second
)

// Roles of this program's own processes, its first argument.
const (
	roleCoordinator = "coordinator"
	roleRunner      = "simulated-runner"
)

// coordinatorRole serves a folder, and a store and blobs of their own unless they are empty, until SIGTERM, as misstep coordinator
// does, by a clock that files shift.
func coordinatorRole(dir, store, blobs, listen string, clocks ...string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	c, err := station.Open(ctx, station.Place{Dir: dir, Store: store, Blobs: blobs, Patience: time.Minute}, coordinator.Config{
		Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)), LeaseTime: leaseTime, SyncInterval: syncInterval,
		Clock: func() time.Time { return time.Now().Add(readShift(clocks...)) },
	}, share.Policy{})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		_ = c.Close()
		return err
	}
	return c.Serve(ctx, listener)
}

// script is what simulated trials do. The outcome of a recipe depends on nothing but the recipe.
func script(duration time.Duration) sim.Script {
	return sim.Script{Seed: 34, Duration: duration, Events: []sim.Event{
		{Rate: 0.05, Outcome: sim.Mismatch("A")},
		{Rate: 0.02, Outcome: sim.Mismatch("B")},
		{Rate: 0.005, Outcome: sim.Mismatch("Rare")},
		{Rate: 0.02, Outcome: sim.Crash("frame::sender")},
		{Rate: 0.01, Outcome: sim.Of(misstepv1.OutcomeKind_OUTCOME_KIND_HANG, "no end")},
		{Rate: 0.02, Outcome: sim.Of(misstepv1.OutcomeKind_OUTCOME_KIND_VOID, "nothing was compared")},
	}}
}

// runnerRole runs simulated trials until SIGTERM, with a piece of evidence for each, by a clock that a file shifts.
func runnerRole(addresses string, slots int, duration time.Duration, file string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	st, err := station.Dial(strings.Split(addresses, ",")...)
	if err != nil {
		return err
	}
	defer st.Close()
	simulated, err := sim.New(script(duration), runner.SystemClock{})
	if err != nil {
		return err
	}
	clock := shiftedClock{file: file}
	logger := slog.New(slog.NewTextHandler(os.Stderr, nil))
	blobs := patient.New(st.Blobs, nil)
	executor := func(ctx context.Context, r *misstepv1.Recipe, p runner.ProgressFunc) (*misstepv1.Outcome, error) {
		outcome, err := simulated.Run(ctx, r, p)
		if err != nil {
			return nil, err
		}
		outcome.Started = timestamppb.New(clock.Now())
		note := evidenceOf(outcome.GetRecipeDigest())
		digest, size, err := blobs.Put(ctx, strings.NewReader(note), corpus.Digest{})
		if err != nil {
			return nil, err
		}
		outcome.Evidence = []*misstepv1.Evidence{{Name: "note.txt", Digest: digest.String(), Size: uint64(max(0, size))}}
		return outcome, nil
	}
	r, err := runner.New(runner.Config{
		Client: st.Leases, Slots: slots, Logger: logger,
		Executor: runner.Recover(runner.ExecutorFunc(executor)), Clock: clock,
	})
	if err != nil {
		return err
	}
	late, end := context.WithCancel(context.Background())
	defer end()
	context.AfterFunc(ctx, func() {
		r.Drain()
		time.AfterFunc(drainTime, end)
	})
	return r.Run(late)
}

// evidenceOf is the evidence of a simulated trial.
func evidenceOf(recipe string) string { return "evidence of " + recipe + "\n" }
