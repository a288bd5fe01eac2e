package view

import (
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"misstep/coordinator/reproduce"
	"misstep/coordinator/store"
	"misstep/internal/interval"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/signature"
	"misstep/triage"
)

// Reproductions lists the reproductions of a finding and of those merged with it, or all when finding is empty, newest first.
func (Reader) Reproductions(tx store.Tx, finding string, now time.Time) ([]*misstepv1.ReproductionStatus, error) {
	all, err := tx.Reproductions(false)
	if err != nil {
		return nil, err
	}
	decisions, err := tx.Decisions()
	if err != nil {
		return nil, err
	}
	g := triage.NewGrouping(decisions)
	var list []*misstepv1.ReproductionStatus
	for _, r := range all {
		s := r.GetSpec()
		if finding != "" && g.Head(s.GetFindingId()) != g.Head(finding) && !signature.HasID(s.GetSignature(), finding) {
			continue
		}
		st, err := reproductionStatus(tx, g, r, now)
		if err != nil {
			return nil, err
		}
		list = append(list, st)
	}
	return list, nil
}

// Reproduction returns the status of a reproduction by now. It changes r.
func (Reader) Reproduction(tx store.Tx, r *misstepv1.Reproduction, now time.Time) (*misstepv1.ReproductionStatus, error) {
	decisions, err := tx.Decisions()
	if err != nil {
		return nil, err
	}
	return reproductionStatus(tx, triage.NewGrouping(decisions), r, now)
}

func reproductionStatus(
	tx store.Tx, g triage.Grouping, r *misstepv1.Reproduction, now time.Time,
) (*misstepv1.ReproductionStatus, error) {
	plan := reproduce.Next(r)
	if f := r.GetReproducer().GetFinding(); f != nil { // which may have been merged since
		f.Id = g.Head(f.GetId())
		f.Aliases = g.Aliases(f.GetId())
	}
	st := &misstepv1.ReproductionStatus{
		Id: r.GetId(), FindingId: r.GetSpec().GetFindingId(), State: r.GetState(), Started: r.GetStarted(), Ended: r.GetEnded(),
		Steps: plan.Steps, Others: r.GetOthers(), Reproducer: r.GetReproducer(), Failure: r.GetFailure(),
		Trials: r.GetNext() - uint64(len(r.GetPending())),
	}
	if plan.Tries > 0 {
		low, high := interval.Wilson(uint64(plan.Hits), uint64(plan.Tries))
		// Both counts are bounded by the trials of a reproduction.
		st.Rate = &misstepv1.Reliability{Hits: uint32(plan.Hits), Tries: uint32(plan.Tries), Low: low, High: high}
	}
	if r.GetState() != misstepv1.ReproductionState_REPRODUCTION_STATE_RUNNING {
		return st, nil
	}
	st.Doing, st.Bisection = plan.Doing, plan.Bisection
	if st.GetTrials() > 0 {
		each := float64(now.Sub(r.GetStarted().AsTime())) / float64(st.GetTrials())
		// The budget may have ended a moment ago: its end is noticed by the coordinator's clock.
		budget := max(0, r.GetStarted().AsTime().Add(r.GetSpec().GetTime().AsDuration()).Sub(now))
		st.Left = durationpb.New(min(time.Duration(each*float64(plan.Left)), budget))
	}
	var err error
	if st.Queued, err = tx.CountJobs(r.GetId()); err != nil {
		return nil, err
	}
	st.Running, err = tx.CountLeases(r.GetId())
	return st, err
}
