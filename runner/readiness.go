package runner

import (
	"context"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// ReadinessChecker is an Executor that can check in advance whether its trials can run at all.
type ReadinessChecker interface {
	Executor
	// CheckReadiness returns nil if a trial could run now, else an error that names what is missing and the remedy. The runner
	// calls it before it asks for work, with a deadline of a minute. It is safe for concurrent use and leaves nothing behind.
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

const (
	// readinessTimeout bounds one check. The loop waits for readinessPatience before it continues and has the answer later, so that
	// a slow check costs no lease.
	readinessTimeout  = time.Minute
	readinessPatience = 5 * time.Second
	// readinessInterval is how long the result of a successful check is valid.
	readinessInterval = 30 * time.Second
	// unchecked is the problem of an executor whose first check has not ended.
	unchecked = "its readiness is still being checked"
)

// readiness is the executor's readiness as the loop last observed it.
type readiness struct {
	// problem is the reason why the executor is not ready, "" when it is.
	problem string
	// due is the time of the next check; zero means at once.
	due time.Time
	// retries is the policy for checks that failed.
	retries backoff.BackOff
	// answers receives the result of the check under way; nil while there is none.
	answers chan error
}

// checkReadiness begins a check if one is due and the runner would ask for work, and waits a while for its result. Trials that end
// meanwhile are settled. A change is logged once.
func (r *Runner) checkReadiness(ctx context.Context) {
	if r.ready.answers == nil {
		now := r.config.Clock.Now()
		if !r.asksForWork() || now.Before(r.ready.due) {
			return
		}
		answers := make(chan error, 1)
		r.ready.answers = answers
		go func() {
			check, cancel := context.WithTimeout(ctx, readinessTimeout)
			defer cancel()
			answers <- CheckReadiness(check, r.config.Executor)
		}()
	}
	patience := time.NewTimer(readinessPatience)
	defer patience.Stop()
	for {
		select {
		case f := <-r.finished:
			r.settle(f)
		case err := <-r.ready.answers:
			r.noteReadiness(ctx, err)
			return
		case <-ctx.Done():
			return
		case <-patience.C:
			if r.ready.due.IsZero() && r.ready.problem == "" {
				r.ready.problem = unchecked
			}
			return
		}
	}
}

// noteReadiness takes the result of a check in.
func (r *Runner) noteReadiness(ctx context.Context, err error) {
	r.ready.answers = nil
	if ctx.Err() != nil {
		return
	}
	now := r.config.Clock.Now()
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
	if problem := strings.ReplaceAll(err.Error(), "\n", "; "); problem != r.ready.problem {
		r.ready.problem = problem
		r.config.Logger.WarnContext(ctx, "not ready; asking for no work until this is fixed", "error", problem)
	}
}

// notReady says why the runner asks for no work although it has free slots; empty when it asks or is busy.
func (r *Runner) notReady() string {
	switch {
	case r.retiring() || r.stopping:
		return "draining"
	default:
		return r.ready.problem
	}
}
