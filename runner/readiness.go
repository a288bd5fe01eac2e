package runner

import (
	"context"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// ReadinessChecker is an Executor that can check in advance whether its trials can run at all.
type ReadinessChecker interface {
	Executor
	// CheckReadiness returns nil if a trial could run now, else an error that names what is missing and the remedy. The runner
	// calls it before it asks for work, from one goroutine, with a deadline of ten seconds. It leaves nothing behind.
	CheckReadiness(ctx context.Context) error
}

// CheckReadiness returns nil if an Executor is ready; one that is not a ReadinessChecker always is.
func CheckReadiness(ctx context.Context, e Executor) error {
	if c, ok := e.(ReadinessChecker); ok {
		return c.CheckReadiness(ctx)
	}
	return nil
}

// decorator is an Executor that calls a function in place of the decorated Executor, and that is ready when the decorated one is.
type decorator struct {
	ExecutorFunc
	next Executor
}

// CheckReadiness implements ReadinessChecker.
func (d decorator) CheckReadiness(ctx context.Context) error { return CheckReadiness(ctx, d.next) }

// Requirement is something that every trial requires of the machine.
type Requirement struct {
	// Name of the requirement in errors, e.g. "agent".
	Name string
	// Check returns nil if the requirement is met.
	Check func(context.Context) error
}

// Require returns an Executor that is ready when next is ready and all requirements are met.
func Require(next Executor, requirements ...Requirement) Executor {
	return required{next, requirements}
}

type required struct {
	Executor
	requirements []Requirement
}

// CheckReadiness implements ReadinessChecker; the error is that of the first unmet requirement.
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
	// readinessInterval is how long the result of a successful check is valid.
	readinessInterval = 30 * time.Second
)

// readiness is the executor's readiness as the loop last observed it.
type readiness struct {
	// problem is the reason why the executor is not ready, "" when it is.
	problem string
	// due is the time of the next check; zero means at once.
	due time.Time
	// retries is the policy for checks that failed.
	retries backoff.BackOff
}

// checkReadiness performs a check if one is due and the runner would ask for work. Trials that end during the check are settled. A
// change is logged once.
func (r *Runner) checkReadiness(ctx context.Context) {
	now := r.config.Clock.Now()
	if !r.asksForWork() || now.Before(r.ready.due) {
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
		r.ready = readiness{due: now.Add(readinessInterval)}
		return
	}
	if r.ready.retries == nil {
		r.ready.retries = r.config.Backoff()
	}
	wait := r.ready.retries.NextBackOff()
	if wait < 0 { // the policy gives up, but the runner does not
		wait = maxNextCall
	}
	r.ready.due = now.Add(wait)
	if problem := err.Error(); problem != r.ready.problem {
		r.ready.problem = problem
		r.config.Logger.WarnContext(ctx, "not ready; asking for no work until this is fixed", "error", err)
	}
}
