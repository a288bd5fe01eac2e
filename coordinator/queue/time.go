package queue

import (
	"fmt"
	"time"

	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
)

// Advance expires overdue leases, cancels trials past their campaign's grace period, and finishes completed campaigns. Call it
// first in every transaction. It expires a bounded number of leases, so that thousands that end at once do not keep others waiting;
// more reports whether there may be further ones. now is a time before which no call arrived that waits: what such a call renews
// has not ended.
func (q *Queue) Advance(tx store.Tx, now time.Time) (more bool, err error) {
	lost, err := tx.Leases(store.LeaseFilter{ExpiredAt: now, Limit: expiredAtOnce})
	if err != nil {
		return false, err
	}
	if err := q.expire(tx, lost, now); err != nil {
		return false, err
	}
	running, err := tx.Campaigns(true)
	if err != nil {
		return false, err
	}
	for _, c := range running {
		if err := q.settle(tx, c, now); err != nil {
			return false, fmt.Errorf("advance campaign %s: %w", c.ID, err)
		}
	}
	return len(lost) == expiredAtOnce, nil
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
