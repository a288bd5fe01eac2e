package runner

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	misstepv1 "misstep/proto/misstep/v1"
)

// Requirement is something that every trial requires of the machine.
type Requirement struct {
	// Name of the requirement in errors, e.g. "agent".
	Name string
	// Check returns nil if the requirement is met, else an error that names what is missing and the remedy.
	Check func(context.Context) error
	// Valid is how long a successful check counts, unless a trial fails because of the infrastructure; 0 means not at all.
	Valid time.Duration
}

// Require returns an Executor that is ready when next is ready and all requirements are met. When a trial fails because of the
// infrastructure, all are checked anew; if one is not met, the failure is the machine's (see Unfit) and not the trial's.
func Require(next Executor, requirements ...Requirement) Executor {
	return &required{next: next, requirements: requirements, met: make([]time.Time, len(requirements))}
}

type required struct {
	next         Executor
	requirements []Requirement

	mu sync.Mutex
	// met has the time of each requirement's last successful check; guarded by mu.
	met []time.Time
}

// Run implements Executor.
func (r *required) Run(ctx context.Context, recipe *misstepv1.Recipe, progress ProgressFunc) (*misstepv1.Outcome, error) {
	outcome, err := r.next.Run(ctx, recipe, progress)
	if err == nil || IsPermanent(err) || ctx.Err() != nil {
		return outcome, err
	}
	r.forget()
	check, cancel := context.WithTimeout(ctx, readinessTimeout)
	defer cancel()
	if problem := r.CheckReadiness(check); problem != nil {
		return nil, Unfit(fmt.Errorf("%w (this machine is not ready: %w)", err, problem))
	}
	return nil, err
}

func (r *required) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.met)
}

// CheckReadiness implements ReadinessChecker; the error joins those of all unmet requirements.
func (r *required) CheckReadiness(ctx context.Context) error {
	var problems []error
	for i, q := range r.requirements {
		r.mu.Lock()
		valid := time.Since(r.met[i]) < q.Valid
		r.mu.Unlock()
		if valid {
			continue
		}
		began := time.Now()
		if err := q.Check(ctx); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", q.Name, err))
			continue
		}
		r.mu.Lock()
		r.met[i] = began
		r.mu.Unlock()
	}
	if err := CheckReadiness(ctx, r.next); err != nil {
		problems = append(problems, err)
	}
	return errors.Join(problems...)
}

type unfitError struct{ cause error }

func (e unfitError) Error() string { return e.cause.Error() }
func (e unfitError) Unwrap() error { return e.cause }

// Unfit marks an infrastructure failure of a machine that is not ready: the trial is repeated elsewhere without having used an
// attempt. Nil stays nil.
func Unfit(err error) error {
	if err == nil {
		return nil
	}
	return unfitError{err}
}

// IsUnfit reports whether an infrastructure failure is that of a machine that is not ready.
func IsUnfit(err error) bool {
	_, unfit := errors.AsType[unfitError](err)
	return unfit
}
