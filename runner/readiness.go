package runner

import (
	"context"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// ReadinessChecker is an Executor that can tell beforehand whether its trials could run at all.
type ReadinessChecker interface {
	Executor
	// CheckReadiness returns nil when a trial could run now, else an error that names what is missing and what to do. The runner
	// calls it before it asks for work, from one goroutine, with a deadline of ten seconds. It leaves nothing behind.
	CheckReadiness(ctx context.Context) error
}

// CheckReadiness asks an Executor whether it can work; one that cannot tell is ready.
func CheckReadiness(ctx context.Context, e Executor) error {
	if c, ok := e.(ReadinessChecker); ok {
		return c.CheckReadiness(ctx)
	}
	return nil
}

// around is an Executor that does run in place of what it decorates, and that is ready when the decorated one is.
type around struct {
	ExecutorFunc
	next Executor
}

// CheckReadiness implements ReadinessChecker.
func (a around) CheckReadiness(ctx context.Context) error { return CheckReadiness(ctx, a.next) }

// Requirement is something that every trial needs of the machine.
type Requirement struct {
	// Name of it in an error, e.g. "agent".
	Name string
	// Check returns nil when it is there.
	Check func(context.Context) error
}

// Require makes an Executor that is ready when next is and all requirements are met.
func Require(next Executor, requirements ...Requirement) Executor {
	return required{next, requirements}
}

type required struct {
	Executor
	requirements []Requirement
}

// CheckReadiness implements ReadinessChecker; the first requirement that is not met is the error.
func (r required) CheckReadiness(ctx context.Context) error {
	for _, q := range r.requirements {
		if err := q.Check(ctx); err != nil {
			return fmt.Errorf("%s: %w", q.Name, err)
		}
	}
	return CheckReadiness(ctx, r.Executor)
}

const (
	// readinessTimeout bounds one check.
	readinessTimeout = 10 * time.Second
	// readinessInterval is how long a runner that was ready is taken to be so.
	readinessInterval = 30 * time.Second
)

// readiness is what the loop knows of its executor's.
type readiness struct {
	// problem why it is not ready, "" when it is.
	problem string
	// again is when to check next; zero is at once.
	again time.Time
	// retries says how long to wait after a check that failed.
	retries backoff.BackOff
}

// checkReadiness checks before the runner asks for work, when a check is due. Trials that end meanwhile are taken in. A change is
// logged once.
func (r *Runner) checkReadiness(ctx context.Context) {
	now := r.config.Clock.Now()
	if !r.asksForWork() || now.Before(r.ready.again) {
		return
	}
	check, cancel := context.WithTimeout(ctx, readinessTimeout)
	defer cancel()
	answers := make(chan error, 1)
	go func() { answers <- CheckReadiness(check, r.config.Executor) }()
	for {
		select {
		case f := <-r.finished:
			r.settle(f)
		case err := <-answers:
			if ctx.Err() == nil {
				r.noteReadiness(ctx, err, now)
			}
			return
		}
	}
}

func (r *Runner) noteReadiness(ctx context.Context, err error, now time.Time) {
	if err == nil {
		if r.ready.problem != "" {
			r.config.Logger.InfoContext(ctx, "ready again, asking for work")
		}
		r.ready = readiness{again: now.Add(readinessInterval)}
		return
	}
	if r.ready.retries == nil {
		r.ready.retries = r.config.Backoff()
	}
	wait := r.ready.retries.NextBackOff()
	if wait < 0 { // a policy that gives up; a runner does not
		wait = maxNextCall
	}
	r.ready.again = now.Add(wait)
	if problem := err.Error(); problem != r.ready.problem {
		r.ready.problem = problem
		r.config.Logger.WarnContext(ctx, "not ready, taking no work until this is mended", "error", err)
	}
}
