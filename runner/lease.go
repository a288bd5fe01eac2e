package runner

import (
	"context"
	"sync/atomic"

	misstepv1 "misstep/proto/misstep/v1"
)

// lease is one lease as the runner holds it. Only the loop's goroutine touches cancelled and result; the trial's goroutine
// replaces progress by whole messages that nobody changes afterwards.
type lease struct {
	id        string
	cancel    context.CancelFunc
	progress  atomic.Pointer[misstepv1.Progress]
	result    *misstepv1.HeldLease // nil while the trial runs
	cancelled bool                 // not wanted any more: its result is dropped
}

func (l *lease) running() *misstepv1.HeldLease {
	return &misstepv1.HeldLease{LeaseId: l.id, State: &misstepv1.HeldLease_Running{Running: l.progress.Load()}}
}

// finished is what a trial's goroutine hands to the loop.
type finished struct {
	lease   *lease
	outcome *misstepv1.Outcome
	err     error
}

func (f finished) report(stopping bool) *misstepv1.HeldLease {
	held := &misstepv1.HeldLease{LeaseId: f.lease.id}
	switch {
	case f.err != nil:
		failure := FailureOf(f.err)
		failure.Interrupted = stopping
		held.State = &misstepv1.HeldLease_Failure{Failure: failure}
	case f.outcome == nil:
		held.State = &misstepv1.HeldLease_Failure{Failure: &misstepv1.InfrastructureFailure{
			Message: "run trial: the executor gave neither an outcome nor an error",
		}}
	default:
		held.State = &misstepv1.HeldLease_Outcome{Outcome: f.outcome}
	}
	return held
}
