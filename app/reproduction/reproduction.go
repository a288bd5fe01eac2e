// Package reproduction goes from a finding to a verified reproducer: it drives a coordinator's reproduction to its end, writes the
// bundle and tries it in a clean folder.
package reproduction

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"misstep/app"
	"misstep/app/bundles"
	"misstep/app/replay"
	"misstep/app/station"
	misstepv1 "misstep/proto/misstep/v1"
)

// Limits bound the cost of a reproduction and select what it tries.
type Limits struct {
	Trials     uint64 // at most; 0 means the coordinator's default
	Time       time.Duration
	JDKs       []string // builds of the catalogue to bisect over; empty means all
	Perturb    []string // STRATEGY or STRATEGY@MECHANISM to amplify by; empty means the default
	CleanTries uint32   // verification runs using only the finished bundle; 0 means none
	Again      bool     // redo a reproduction that has been finished with the same options
}

// Driver drives reproductions.
type Driver struct {
	Bundles bundles.Writer
	Limits  Limits
	// WhileRunning calls work while trials are run, here or elsewhere.
	WhileRunning func(work func(context.Context) error) error
	// Show is called repeatedly with the current state.
	Show func(*misstepv1.ReproductionStatus)
	Say  app.Say
	// Logger takes the warnings of virtual machines.
	Logger *slog.Logger
}

// NotReproducedError means that a reproduction ended without a bundle that shows the finding.
type NotReproducedError struct{ Reason string }

func (e *NotReproducedError) Error() string { return e.Reason }

// Run drives a reproduction of the finding to its end and writes its bundle to out. It resumes one that was interrupted.
func (d Driver) Run(ctx context.Context, id, out string) (*misstepv1.ReproductionStatus, error) {
	status, err := d.run(ctx, id, out)
	if err != nil && ctx.Err() != nil {
		return nil, fmt.Errorf("%w; progress is saved, run the same command again to resume", app.ErrInterrupted)
	}
	return status, err
}

func (d Driver) run(ctx context.Context, id, out string) (*misstepv1.ReproductionStatus, error) {
	st := d.Bundles.Station
	status, err := d.reproduce(ctx, id)
	if err != nil {
		return nil, err
	}
	if status.GetState() != misstepv1.ReproductionState_REPRODUCTION_STATE_DONE {
		reason := cmp.Or(status.GetFailure(), "it was cancelled")
		return nil, &NotReproducedError{fmt.Sprintf("reproduction %s of %s: %s", status.GetId(), id, reason)}
	}
	reproducer := status.GetReproducer()
	if err := d.Bundles.Reproducer(ctx, reproducer, out, ""); err != nil {
		return nil, err
	}
	tries := d.Limits.CleanTries
	if known := reproducer.GetClean(); tries == 0 || known.GetHits() > 0 && known.GetTries() >= tries {
		return status, nil
	}
	if reproducer.Clean, err = replay.Clean(ctx, d.Bundles.Installation, st.Blobs, out, tries, d.Say, d.Logger); err != nil {
		return nil, err
	}
	if _, err := st.RecordClean(ctx, &misstepv1.RecordCleanRequest{
		ReproductionId: status.GetId(),
		Clean:          reproducer.GetClean(),
	}); err != nil {
		return nil, err
	}
	if reproducer.GetClean().GetHits() == 0 {
		return nil, &NotReproducedError{fmt.Sprintf("%s: the bundle did not show the finding "+
			"in %d tries from a clean folder, though %d of %d trials did",
			out, reproducer.GetClean().GetTries(), reproducer.GetReliability().GetHits(), reproducer.GetReliability().GetTries())}
	}
	return status, d.Bundles.Reproducer(ctx, reproducer, out, "") // again, with the result of the clean tries
}

// reproduce starts or resumes a reproduction of the finding and waits for its end.
func (d Driver) reproduce(ctx context.Context, id string) (status *misstepv1.ReproductionStatus, err error) {
	st := d.Bundles.Station
	request, err := d.request(ctx, id)
	if err != nil {
		return nil, err
	}
	started, err := st.StartReproduction(ctx, request)
	if err != nil {
		return nil, err
	}
	if started.GetExisting() {
		d.Say("resuming reproduction %s of %s", started.GetReproductionId(), id)
	}
	err = d.WhileRunning(func(ctx context.Context) (err error) {
		status, err = station.WatchReproduction(ctx, st, started.GetReproductionId(), d.Show)
		return err
	})
	return status, err
}
