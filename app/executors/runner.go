package executors

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"

	"misstep/app/local"
	"misstep/app/station"
	"misstep/corpus"
	"misstep/runner"
)

// RunnerConfig says what a runner of real JVMs works for and with.
type RunnerConfig struct {
	Station *station.Station
	// Slots is the maximum number of concurrent trials; 0 means the number of CPUs.
	Slots int
	// Scratch is the folder of the trials' temporary files.
	Scratch string
	// Logger takes warnings of trials and, at level info, each trial's end.
	Logger *slog.Logger
	// Warnings takes the warnings of virtual machines.
	Warnings *slog.Logger
}

// minScratch in MiB must be free for a runner to ask for work: what one trial may write unless its recipe sets another limit.
const minScratch = 512

// NewRunner makes a runner of real JVMs on this machine.
func NewRunner(ctx context.Context, i local.Installation, c RunnerConfig) (*runner.Runner, error) {
	executor, err := Host(i, c.Station.Blobs, c.Scratch)
	if err != nil {
		return nil, err
	}
	slots := c.Slots
	if slots <= 0 {
		slots = runtime.NumCPU()
	}
	if err := executor.Open(); err != nil { // reaps what a killed runner left in scratch
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("host name: %w", err)
	}
	routed, err := Route(executor, i.Home, "", c.Warnings)
	if err != nil {
		return nil, err
	}
	clock := runner.SystemClock{}
	ready := runner.Require(routed,
		runner.Space("scratch space", c.Scratch, minScratch),
		runner.Files("agent", executor.Agent.Library, executor.Agent.Jar),
		runner.Requirement{Name: "corpus of JDKs, workloads and evidence", Check: func(ctx context.Context) error {
			_, err := c.Station.Blobs.Missing(ctx, []corpus.Digest{corpus.DigestBytes(nil)})
			return err
		}},
	)
	return runner.New(runner.Config{
		Client:       c.Station.Leases,
		Executor:     runner.Log(runner.Stamp(runner.Recover(ready), clock, host), c.Logger, clock),
		Slots:        slots,
		Host:         host,
		AgentDigest:  executor.Agent.Digest,
		Capabilities: append(executor.Capabilities(), Capabilities(ctx, i.Home)...),
		Clock:        clock,
		Logger:       c.Logger,
	})
}

// RunDuring runs trials until work has returned.
func RunDuring(ctx context.Context, i local.Installation, c RunnerConfig, work func(context.Context) error) error {
	r, err := NewRunner(ctx, i, c)
	if err != nil {
		return err
	}
	working, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan error, 1)
	go func() { done <- r.Run(working) }()
	workErr := work(ctx)
	stop()
	runErr := <-done
	if errors.Is(runErr, context.Canceled) {
		runErr = nil
	}
	return errors.Join(workErr, runErr)
}
