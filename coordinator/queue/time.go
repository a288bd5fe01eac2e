package queue

import (
	"errors"
	"fmt"
	"time"

	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
)

// Advance expires overdue leases, cancels trials past their campaign's grace period, and finishes completed campaigns. Call it
// first in every transaction.
func (q *Queue) Advance(tx store.Tx, now time.Time) error {
	lost, err := tx.Leases(store.LeaseFilter{ExpiredAt: now})
	if err != nil {
		return err
	}
	for _, l := range lost {
		if err := q.expire(tx, l, now); err != nil {
			return fmt.Errorf("expire lease %s: %w", l.ID, err)
		}
	}
	running, err := tx.Campaigns(true)
	if err != nil {
		return err
	}
	for _, c := range running {
		if err := q.settle(tx, c, now); err != nil {
			return fmt.Errorf("advance campaign %s: %w", c.ID, err)
		}
	}
	return nil
}

// expire ends a lease that its runner has not renewed; its trial waits for another runner.
func (q *Queue) expire(tx store.Tx, l *store.Lease, now time.Time) error {
	if _, repeats := store.Repeated(l.Job.Campaign); repeats {
		return q.FailRepetition(tx, l, false)
	}
	if err := tx.DeleteLease(l.ID); err != nil {
		return err
	}
	c, err := tx.Campaign(l.Job.Campaign)
	if err != nil {
		return err
	}
	job := l.Job
	job.Lost++
	if job.Lost >= q.policy.MaxLost {
		return q.giveUp(tx, c, l, now, &misstepv1.InfrastructureFailure{
			Message: fmt.Sprintf("%d runners were lost while they held this trial, most recently %s", job.Lost, l.Runner),
		})
	}
	ownTally(c)
	if timeIsOver(c, now) {
		addUnfinished(c.Tally, 1)
		return tx.PutCampaign(c)
	}
	c.Tally.Retries++
	job.NotBefore = now
	return errors.Join(putBack(tx, l, job), tx.PutCampaign(c))
}

// Due is what has become due in one campaign by the passing of time.
type Due struct {
	// CancelJobs is true when the waiting trials are to be cancelled.
	CancelJobs bool
	// CancelLeases is true when the running trials are to be cancelled.
	CancelLeases bool
	// Done is true when the campaign has ended.
	Done bool
}

// Due reports what is due by now for a campaign with that many jobs and leases. Advance carries it out; queries
// show the campaign as if that had happened.
func (q *Queue) Due(c *store.Campaign, jobs, leases uint64, now time.Time) Due {
	if !mayEnd(c, now) {
		return Due{}
	}
	var d Due
	if timeIsOver(c, now) {
		d.CancelJobs = jobs > 0
		jobs = 0
		if !now.Before(campaignEnd(c).Add(q.policy.Grace)) {
			d.CancelLeases = leases > 0
			leases = 0
		}
	}
	d.Done = jobs == 0 && leases == 0
	return d
}

// mayEnd reports whether a campaign is running but makes no further trials.
func mayEnd(c *store.Campaign, now time.Time) bool {
	running := c.State == misstepv1.CampaignState_CAMPAIGN_STATE_RUNNING
	return running && (timeIsOver(c, now) || allTrialsMade(c))
}

// settle carries out what is due in campaign c.
func (q *Queue) settle(tx store.Tx, c *store.Campaign, now time.Time) error {
	if !mayEnd(c, now) {
		return nil
	}
	jobs, err := tx.CountJobs(c.ID)
	if err != nil {
		return err
	}
	leases, err := tx.CountLeases(c.ID)
	if err != nil {
		return err
	}
	due := q.Due(c, jobs, leases, now)
	if due == (Due{}) {
		return nil
	}
	ownTally(c)
	if due.CancelJobs {
		all, err := tx.Jobs(c.ID)
		if err != nil {
			return err
		}
		if err := deleteJobs(tx, all); err != nil {
			return err
		}
		c.Tally.Cancelled += uint64(len(all))
	}
	if due.CancelLeases {
		n, err := deleteLeases(tx, c.ID)
		if err != nil {
			return err
		}
		addUnfinished(c.Tally, n)
	}
	if due.Done {
		return End(tx, c, misstepv1.CampaignState_CAMPAIGN_STATE_DONE, now)
	}
	return tx.PutCampaign(c)
}

// allTrialsMade reports whether every trial of c's budget has been made.
func allTrialsMade(c *store.Campaign) bool {
	planned := c.Submission.GetCampaign().GetBudget().GetTrials()
	return planned > 0 && c.Next >= planned
}

func campaignEnd(c *store.Campaign) time.Time {
	return c.Submitted.Add(c.Submission.GetCampaign().GetBudget().GetTime().AsDuration())
}

func timeIsOver(c *store.Campaign, now time.Time) bool {
	if c.State != misstepv1.CampaignState_CAMPAIGN_STATE_RUNNING {
		return true
	}
	b := c.Submission.GetCampaign().GetBudget().GetTime()
	return b.AsDuration() > 0 && !now.Before(campaignEnd(c))
}
