package coordinator

import (
	"context"
	"time"

	"misstep/coordinator/queue"
	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
)

// Metrics is told what a server did, once the transaction that made it so is durable. Its methods are called from any goroutine and
// must not block.
type Metrics interface {
	// Granted is called with the number of new leases of a call, if there are any.
	Granted(leases int)
	// Result is called for each result of a live lease: the kind of its outcome (misstepv1.OutcomeName), InfrastructureFailure, or
	// HandedBack.
	Result(kind string)
	// Dropped is called with the number of results of a call that were not recorded, and with the reason: NotHeld, Malformed or
	// Unfit.
	Dropped(reason string, results int)
	// Batch is called for each transaction that writes, with the number of calls that it served.
	Batch(calls int)
}

// Kinds of results that are no outcomes.
const (
	// InfrastructureFailure is of a trial for which a machine is at fault.
	InfrastructureFailure = "infrastructure-failure"
	// HandedBack is of a trial that its runner did not end because it was stopped.
	HandedBack = "handed-back"
)

// Reasons why a result is not recorded.
const (
	// NotHeld is a result of a lease that the runner does not hold: it was recorded before and the acknowledgement was lost, its
	// lease was lost, or it is another runner's.
	NotHeld = "not-held"
	// Malformed is an outcome that is none of any trial.
	Malformed = "malformed"
	// Unfit is an outcome that no run of its lease's recipe can give.
	Unfit = "unfit"
)

type noMetrics struct{}

func (noMetrics) Granted(int)         {}
func (noMetrics) Result(string)       {}
func (noMetrics) Dropped(string, int) {}
func (noMetrics) Batch(int)           {}

// kindOf returns the kind of a result; false for a trial that still runs.
func kindOf(h *misstepv1.HeldLease) (string, bool) {
	switch {
	case h.GetOutcome() != nil:
		return misstepv1.OutcomeName(h.GetOutcome().GetKind()), true
	case h.GetFailure().GetInterrupted():
		return HandedBack, true
	case h.GetFailure() != nil:
		return InfrastructureFailure, true
	}
	return "", false
}

// Load is what a coordinator has to do.
type Load struct {
	// Runners that called within the last lease time, their slots, and those of them that a limit of their owner holds back.
	Runners, Slots, HeldBack uint64
	// Campaigns that run, their trials that are leased, and those that wait.
	Campaigns, Running, Waiting uint64
	// Repetitions that wait for a runner elsewhere, and owners of runners that are set aside.
	Repetitions, SetAside uint64
}

// Load reads the load from the store.
func (s *Server) Load(ctx context.Context) (Load, error) {
	var load Load
	err := s.readWhole(ctx, func(tx store.Tx, now time.Time) error {
		load = Load{}
		campaigns, err := tx.Campaigns(true)
		if err != nil {
			return err
		}
		load.Campaigns = uint64(len(campaigns))
		if load.Repetitions, err = tx.CountRepetitions(); err != nil {
			return err
		}
		aside, err := setAside(tx)
		if err != nil {
			return err
		}
		load.SetAside = uint64(len(aside.GetByOwner()))
		for _, c := range campaigns {
			jobs, err := tx.CountJobs(c.ID)
			if err != nil {
				return err
			}
			running, err := tx.CountLeases(c.ID)
			if err != nil {
				return err
			}
			load.Running += running
			load.Waiting += queue.Waiting(c, jobs, now)
		}
		for _, r := range s.live.Runners() {
			if now.Sub(r.GetLastCall().AsTime()) <= s.config.LeaseTime {
				load.Runners++
				load.Slots += uint64(r.GetRunner().GetSlots())
				if r.GetHeldBack() != "" {
					load.HeldBack++
				}
			}
		}
		return nil
	})
	return load, err
}

// CheckReadiness returns an error unless the store answers.
func (s *Server) CheckReadiness(ctx context.Context) error {
	return s.readWhole(ctx, func(tx store.Tx, _ time.Time) error {
		_, err := tx.WorkerState("readiness") // there is none: the cheapest question to a store
		return err
	})
}
