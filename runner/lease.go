package runner

import (
	"context"
	"log/slog"
	"sync/atomic"

	"misstep/internal/logctx"
	misstepv1 "misstep/proto/misstep/v1"
)

// lease is one lease held by the runner. Only the loop's goroutine accesses cancelled and result; the trial's goroutine replaces
// progress by whole messages, which are immutable.
type lease struct {
	id        string
	trial     context.Context // of the trial, for records about it
	cancel    context.CancelFunc
	progress  atomic.Pointer[misstepv1.Progress]
	result    *misstepv1.HeldLease // nil while the trial runs
	cancelled bool                 // no longer desired by the coordinator: its result is dropped
}

func (l *lease) running() *misstepv1.HeldLease {
	return &misstepv1.HeldLease{LeaseId: l.id, State: &misstepv1.HeldLease_Running{Running: l.progress.Load()}}
}

type leaseKey struct{}

// withLease returns the context of a lease's trial: an executor finds the lease in it, and its records have the lease's ids.
func withLease(ctx context.Context, l *misstepv1.Lease) context.Context {
	ctx = logctx.With(ctx, slog.String("campaign", l.GetCampaignId()), slog.Uint64("trial", l.GetTrial()),
		slog.String("lease", l.GetId()))
	return context.WithValue(ctx, leaseKey{}, l)
}

// LeaseOf returns the lease for which an executor was called, nil when it was called without one.
func LeaseOf(ctx context.Context) *misstepv1.Lease {
	l, _ := ctx.Value(leaseKey{}).(*misstepv1.Lease)
	return l
}

// finished is the result that a trial's goroutine sends to the loop.
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
		failure.Interrupted = stopping || IsUnfit(f.err)
		held.State = &misstepv1.HeldLease_Failure{Failure: failure}
	case f.outcome == nil:
		held.State = &misstepv1.HeldLease_Failure{Failure: &misstepv1.InfrastructureFailure{
			Message: "run trial: the executor returned neither an outcome nor an error; this is a bug in Misstep",
		}}
	default:
		held.State = &misstepv1.HeldLease_Outcome{Outcome: f.outcome}
	}
	return held
}
