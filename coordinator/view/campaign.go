package view

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"misstep/coordinator/queue"
	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
)

// Campaigns lists the campaigns that users submitted, newest first, without the campaigns of reproductions.
func (r Reader) Campaigns(tx store.Tx, now time.Time) ([]*misstepv1.CampaignStatus, error) {
	all, err := tx.Campaigns(false)
	if err != nil {
		return nil, err
	}
	var list []*misstepv1.CampaignStatus
	for _, c := range all {
		if c.Probes {
			continue
		}
		st, err := r.Campaign(tx, c, now)
		if err != nil {
			return nil, err
		}
		list = append(list, st)
	}
	return list, nil
}

// Campaign returns the status of a campaign by now: its tally plus the progress of running trials. A campaign whose end is due is
// shown as ended, whether or not that has been stored. The result is c's tally, which is changed.
func (r Reader) Campaign(tx store.Tx, c *store.Campaign, now time.Time) (*misstepv1.CampaignStatus, error) {
	jobs, err := tx.Jobs(c.ID)
	if err != nil {
		return nil, err
	}
	leases, err := tx.Leases(store.LeaseFilter{Campaign: c.ID})
	if err != nil {
		return nil, err
	}
	st := c.Tally
	due := r.Queue.Due(c, uint64(len(jobs)), uint64(len(leases)), now)
	if due.CancelJobs {
		st.Cancelled += uint64(len(jobs))
		jobs = nil
	}
	if due.CancelLeases {
		st.Cancelled += uint64(len(leases))
		st.Unfinished += uint64(len(leases))
		leases = nil
	}
	if due.Done {
		c.State, c.Ended = misstepv1.CampaignState_CAMPAIGN_STATE_DONE, now
	}
	st.Id, st.Owner, st.Campaign, st.State = c.ID, c.Owner, c.Submission.GetCampaign(), c.State
	st.Submitted = timestamppb.New(c.Submitted)
	st.ScheduleId, st.AgentDigest = c.Submission.GetScheduleId(), c.Submission.GetAgentDigest()
	if !c.Ended.IsZero() {
		st.Ended = timestamppb.New(c.Ended)
	}
	st.Planned = c.Submission.GetCampaign().GetBudget().GetTrials()
	st.Queued = queue.Waiting(c, uint64(len(jobs)), now)
	if c.State == misstepv1.CampaignState_CAMPAIGN_STATE_RUNNING {
		if st.Unplaced, err = r.Queue.Unplaced(c, jobs, r.Fleet.Capable); err != nil {
			return nil, err
		}
	}
	st.TrialsPerSecond = trialsPerSecond(st, now)
	st.Running = uint64(len(leases))
	for _, l := range leases {
		p := r.Fleet.Progress(l.ID)
		st.Checks = queue.AddChecks(st.Checks, p.GetChecks())
		st.Signals = queue.AddSignals(st.Signals, p.GetSignals())
	}
	return st, nil
}

// trialsPerSecond returns how many trials ended per second of a campaign's life, on average; 0 before the first second is over.
func trialsPerSecond(st *misstepv1.CampaignStatus, now time.Time) float64 {
	if st.GetEnded() != nil {
		now = st.GetEnded().AsTime()
	}
	life := now.Sub(st.GetSubmitted().AsTime())
	if life < time.Second {
		return 0
	}
	ended := st.GetFailed()
	for _, n := range st.GetOutcomes() {
		ended += n
	}
	return float64(ended) / life.Seconds()
}
