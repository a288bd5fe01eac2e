package queue

import (
	"errors"
	"fmt"
	"time"

	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
)

// Advance does what the passing of time asks for: leases past their deadline are lost, trials that outlived their campaign's
// time by the grace are cancelled, and campaigns with nothing left to do are done. Call it first in every transaction.
func (q *Queue) Advance(tx store.Tx, now time.Time) error {
	lost, err := tx.Leases(store.LeaseFilter{ExpiredAt: now})
	if err != nil {
		return err
	}
	for _, l := range lost {
		if err := q.takeBack(tx, l, now); err != nil {
			return fmt.Errorf("take back lease %s: %w", l.ID, err)
		}
	}
	running, err := tx.Campaigns(true)
	if err != nil {
		return err
	}
	for _, c := range running {
		if err := q.settle(tx, c, now); err != nil {
			return fmt.Errorf("see how far campaign %s is: %w", c.ID, err)
		}
	}
	return nil
}

// takeBack ends a lease that its runner has not renewed: its trial waits for another runner.
func (q *Queue) takeBack(tx store.Tx, l *store.Lease, now time.Time) error {
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
			Message: fmt.Sprintf("%d runners were lost while they held this trial, the last one was %s", job.Lost, l.Runner),
		})
	}
	if timeIsOver(c, now) {
		c.Tally.Cancelled++
		return tx.PutCampaign(c)
	}
	c.Tally.Retries++
	job.NotBefore = now
	return errors.Join(putBack(tx, l, job), tx.PutCampaign(c))
}

// Due is what the passing of time asks for in one campaign.
type Due struct {
	// CancelJobs: what waits is cancelled.
	CancelJobs bool
	// CancelLeases: what runs is cancelled.
	CancelLeases bool
	// Done: the campaign has ended.
	Done bool
}

// Due reports what is due by now for a campaign with that many jobs and leases. Advance carries it out; who only reads shows the
// campaign as if it had been.
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

// mayEnd reports whether a campaign runs and makes no further trials.
func mayEnd(c *store.Campaign, now time.Time) bool {
	running := c.State == misstepv1.CampaignState_CAMPAIGN_STATE_RUNNING
	return running && (timeIsOver(c, now) || allTrialsMade(c))
}

// settle carries out what is due in campaign c.
func (q *Queue) settle(tx store.Tx, c *store.Campaign, now time.Time) error {
	if !mayEnd(c, now) {
		return nil
	}
	jobs, err := tx.Jobs(c.ID)
	if err != nil {
		return err
	}
	leases, err := tx.CountLeases(c.ID)
	if err != nil {
		return err
	}
	due := q.Due(c, uint64(len(jobs)), leases, now)
	if due.CancelJobs {
		if err := deleteJobs(tx, jobs); err != nil {
			return err
		}
		c.Tally.Cancelled += uint64(len(jobs))
	}
	if due.CancelLeases {
		n, err := deleteLeases(tx, c.ID)
		if err != nil {
			return err
		}
		c.Tally.Cancelled += n
	}
	if due.Done {
		c.State, c.Ended = misstepv1.CampaignState_CAMPAIGN_STATE_DONE, now
	}
	if due == (Due{}) {
		return nil
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
