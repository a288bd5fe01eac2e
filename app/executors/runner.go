package executors

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"time"

	"misstep/agent"
	"misstep/app/local"
	"misstep/app/observe"
	"misstep/app/station"
	"misstep/corpus/patient"
	"misstep/corpus/tree"
	"misstep/deploy/vm"
	"misstep/runner"
	"misstep/runner/jvm"
	"misstep/runner/process"
	"misstep/runner/scratch"
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
	// Offer are the capabilities that the runner offers; empty are all of this machine, "none" is none. See Offered.
	Offer []string
	// Metrics of the runner; nil are none.
	Metrics *observe.Runner
}

// NewRunner makes a runner of real JVMs on this machine.
func NewRunner(ctx context.Context, i local.Installation, c RunnerConfig) (*runner.Runner, error) {
	capabilities, err := Offered(c.Offer, Capabilities(ctx, i.Home))
	if err != nil {
		return nil, err
	}
	blobs := patient.New(c.Station.Blobs, func(err error, pause time.Duration) {
		c.Logger.WarnContext(ctx, "corpus does not answer; the trial waits", "error", err, "retry_in", pause)
	})
	executor, err := Host(i, blobs, c.Scratch)
	if err != nil {
		return nil, err
	}
	executor.Logger = c.Logger
	required := requirements(i, c, executor)
	slots := c.Slots
	if slots <= 0 {
		slots = runtime.NumCPU()
	}
	if err := reap(i, executor); err != nil {
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
	ready := runner.Require(routed, required...)
	stamped := c.Station.Receipts.Executor(runner.Stamp(runner.Recover(ready), clock, host))
	logged := runner.Log(stamped, c.Logger, clock)
	if c.Metrics != nil {
		logged = c.Metrics.Executor(logged, slots)
	}
	return runner.New(runner.Config{
		Client:       c.Station.Leases,
		Executor:     observe.TraceTrials(logged),
		Slots:        slots,
		Host:         host,
		AgentDigest:  executor.Agent.Digest,
		Capabilities: append(executor.Capabilities(), capabilities...),
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
	if _, stopped := errors.AsType[*runner.StoppedError](runErr); stopped {
		runErr = nil
	}
	return errors.Join(workErr, runErr)
}

// reap removes what a killed runner left on this machine: trials in the executor's folder and in that of its virtual machines, and
// what was being fetched or made for them.
func reap(i local.Installation, e *jvm.Executor) error {
	vm.Sweep()
	tree.Sweep(i.TreeCache())
	return errors.Join(e.Open(), scratch.Reap(machines(e.Scratch), process.DetectCgroups(), e.Logger), agent.Sweep(e.PatchCache))
}
