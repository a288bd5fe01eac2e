package queue

import (
	"errors"
	"time"

	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
)

const (
	// patience is how long a repetition waits for a runner elsewhere, or runs, before it is dropped.
	patience = time.Hour
	// late is when another runner of the same owner may do it: that shows a broken machine, if not an owner who lies.
	late = patience / 2
	// maxAttempts is how often it may fail.
	maxAttempts = 3
	// dropsAtOnce bounds what one transaction drops.
	dropsAtOnce = 64
)

// GrantRepetition leases a repetition to a runner, or returns nil when there is none for it. To the runner its lease is as any
// other. Repetitions of campaigns that were stopped, or whose time is over, are dropped.
func (q *Queue) GrantRepetition(tx store.Tx, r Runner, now time.Time) (*store.Lease, error) {
	for {
		all, err := tx.Repetitions(store.RepetitionFilter{Limit: 1, For: &store.Repeater{
			Owner: store.Owner(r.ID), Holder: r.ID, Late: now.Add(-late), Capabilities: r.Capabilities, AgentDigest: r.AgentDigest,
		}})
		if len(all) == 0 || err != nil {
			return nil, err
		}
		one := all[0]
		wanted, err := stillWanted(tx, one.Campaign, now)
		if err != nil {
			return nil, err
		}
		if !wanted {
			if err := q.drop(tx, one); err != nil {
				return nil, err
			}
			continue
		}
		job := store.Job{Campaign: store.RepetitionOf(one.Campaign), Index: one.Index}
		l, err := q.lease(tx, job, one.Proto.GetRecipe(), r, now)
		if err != nil {
			return nil, err
		}
		one.Lease = l.ID
		return l, tx.PutRepetition(one)
	}
}

// stillWanted reports whether trials of a campaign may still run: it may have made all, but was not stopped.
func stillWanted(tx store.Tx, campaign string, now time.Time) (bool, error) {
	c, err := tx.Campaign(campaign)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	limited := c.Submission.GetCampaign().GetBudget().GetTime().AsDuration() > 0
	return c.State != misstepv1.CampaignState_CAMPAIGN_STATE_STOPPED && (!limited || now.Before(campaignEnd(c))), nil
}

// Repetition returns the repetition that a lease runs; nil when it was dropped.
func (q *Queue) Repetition(tx store.Tx, l *store.Lease) (*store.Repetition, error) {
	campaign, _ := store.Repeated(l.Job.Campaign)
	r, err := tx.Repetition(campaign, l.Job.Index)
	if errors.Is(err, store.ErrNotFound) || err == nil && r.Lease != l.ID {
		return nil, nil
	}
	return r, err
}

// EndRepetition ends the lease of a repetition that has a second result; differs is what Repetitions.differing counts.
func (q *Queue) EndRepetition(tx store.Tx, l *store.Lease, r *store.Repetition, differs bool) error {
	if r == nil {
		return tx.DeleteLease(l.ID)
	}
	return errors.Join(tx.DeleteLease(l.ID), tx.DeleteRepetition(r.Campaign, r.Index), CountRepetition(tx, r.Campaign,
		func(n *misstepv1.Repetitions) {
			n.Ended++
			if differs {
				n.Differing++
			}
		}))
}

// FailRepetition ends the lease of a repetition that has no result. It waits again, unless it failed too often.
func (q *Queue) FailRepetition(tx store.Tx, l *store.Lease, interrupted bool) error {
	if err := tx.DeleteLease(l.ID); err != nil {
		return err
	}
	r, err := q.Repetition(tx, l)
	if r == nil || err != nil {
		return err
	}
	r.Lease = ""
	if !interrupted {
		r.Proto.Attempts++
	}
	if r.Proto.GetAttempts() >= maxAttempts {
		return q.drop(tx, r)
	}
	return tx.PutRepetition(r)
}

// DropLate drops repetitions that nobody ran in time.
func (q *Queue) DropLate(tx store.Tx, now time.Time) error {
	all, err := tx.Repetitions(store.RepetitionFilter{DrawnBy: now.Add(-patience), Limit: dropsAtOnce})
	if err != nil {
		return err
	}
	for _, r := range all {
		if err := q.drop(tx, r); err != nil {
			return err
		}
	}
	return nil
}

func (q *Queue) drop(tx store.Tx, r *store.Repetition) error {
	return errors.Join(tx.DeleteRepetition(r.Campaign, r.Index), CountRepetition(tx, r.Campaign, func(n *misstepv1.Repetitions) {
		n.Dropped++
	}))
}

// CountRepetition changes what a campaign says about its repetitions, if there still is one.
func CountRepetition(tx store.Tx, campaign string, change func(*misstepv1.Repetitions)) error {
	c, err := tx.Campaign(campaign)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	ownTally(c)
	if c.Tally.Repetitions == nil {
		c.Tally.Repetitions = &misstepv1.Repetitions{}
	}
	change(c.Tally.GetRepetitions())
	return tx.PutCampaign(c)
}
