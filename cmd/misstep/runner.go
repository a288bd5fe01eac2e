package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"misstep/app/executors"
	"misstep/app/observe"
	"misstep/app/station"
	"misstep/runner"
)

type runnerCommand struct {
	Coordinator []string `address:"HOST:PORT" help:"Address of the coordinator, or of several on one store; a name may have several addresses." required:"" xor:"coordinators" placeholder:"HOST:PORT"`
	List        string   `name:"coordinator-list" help:"File with those addresses, one a line, which is read again while the runner runs." required:"" xor:"coordinators" type:"path" placeholder:"FILE"`
	tlsFlags
	Slots   int           `within:"[1,4096]" help:"Maximum concurrent trials (default: number of CPUs)." placeholder:"N"`
	Scratch string        `help:"Folder for the trials' temporary files (default: below the system's temporary folder)." type:"path" placeholder:"DIR"`
	Drain   time.Duration `within:"[0s,)" help:"How long running trials may go on after SIGTERM before they are handed back; misstep runners drain waits for as long as they take." default:"3s"`
	Offer   []string      `help:"What to offer beyond running JVMs: sched_ext, vm, vm-deterministic, or none (default: what this machine can do)." placeholder:"CAPABILITY"`
	httpFlag
}

// Run takes leases until it is stopped or drained.
func (c *runnerCommand) Run(ctx context.Context, e *env) error {
	metrics, logger := observe.NewRunner(), e.info()
	stop, err := c.serve(logger, observe.Endpoints{Metrics: metrics.Registry, Ready: metrics.CheckReadiness})
	if err != nil {
		return err
	}
	defer stop()
	secure, err := c.source(logger)
	if err != nil {
		return err
	}
	options := metrics.DialOptions()
	if secure != nil {
		options = append(options, secure.DialOption())
		metrics.Certificates(secure.EachExpiry)
		go secure.Watch(ctx.Done())
	}
	if c.List != "" {
		c.Coordinator = []string{station.ListFile(c.List)}
	}
	st, err := station.DialWith(options, c.Coordinator...)
	if err != nil {
		return err
	}
	defer st.Close()
	scratch := c.Scratch
	if scratch == "" {
		scratch = filepath.Join(os.TempDir(), fmt.Sprintf("misstep-runner-%d", os.Getuid()))
	}
	r, err := executors.NewRunner(ctx, e.installation(), executors.RunnerConfig{
		Station: st, Slots: c.Slots, Scratch: scratch, Logger: logger, Warnings: e.warnings(), Metrics: metrics,
		Offer: c.Offer,
	})
	if err != nil {
		return err
	}
	if err := warnUnconfined(logger); err != nil {
		return err
	}
	running, end := context.WithCancelCause(context.WithoutCancel(ctx))
	defer end(nil)
	defer context.AfterFunc(ctx, func() { end(c.drain(ctx, running, r, logger)) })()
	return stopped(r.Run(running))
}

// warnUnconfined says in what the programs of trials are not confined here, a line each.
func warnUnconfined(logger *slog.Logger) error {
	gaps, err := executors.Unconfined()
	for _, g := range gaps {
		logger.Warn("not confined here", "what", g.What, "remedy", g.Remedy)
	}
	return err
}

// drain is called when ctx has ended. After SIGTERM it drains the runner and returns when trials that are still running must be
// handed back, with the reason: at the end of the given time, or at the next signal. After anything else that is at once. running
// ends when the runner has ended.
func (c *runnerCommand) drain(ctx, running context.Context, r *runner.Runner, logger *slog.Logger) error {
	cause := context.Cause(ctx)
	if by, ok := errors.AsType[signalError](cause); !ok || by.Signal != syscall.SIGTERM {
		return cause
	}
	next, stop := signal.NotifyContext(running, os.Interrupt, syscall.SIGTERM)
	defer stop()
	late, stop := context.WithTimeoutCause(next, c.Drain, fmt.Errorf("trials were still running %v after SIGTERM", c.Drain))
	defer stop()
	logger.InfoContext(ctx, "SIGTERM: draining; a second signal hands running trials back at once", "for", c.Drain)
	r.Drain()
	<-late.Done()
	return context.Cause(late)
}

// stopped turns the end of a runner into an exit code.
func stopped(err error) error {
	s, ok := errors.AsType[*runner.StoppedError](err)
	switch {
	case !ok:
		return err
	case s.Unreported > 0:
		return &exitError{exitFailed, errors.New(s.Error())}
	case s.HandedBack > 0:
		return &exitError{exitHandedBack, errors.New(s.Error())}
	}
	return nil
}
