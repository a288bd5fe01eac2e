package queue

import (
	"errors"
	"time"

	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
)

// Result is what a trial ended with.
type Result struct {
	Outcome *misstepv1.Outcome
	// Encoded, unless nil, is Outcome in its binary form.
	Encoded []byte
	// FindingIDs are the findings that the outcome shows.
	FindingIDs []string
}

// Complete records the result of a lease and deletes the lease. The caller has made sure that the lease is live.
func (q *Queue) Complete(tx store.Tx, l *store.Lease, r Result, now time.Time) error {
	c, err := tx.Campaign(l.Job.Campaign)
	if err != nil {
		return err
	}
	t := &store.Trial{
		Campaign: c.ID, Index: l.Job.Index, Recipe: l.Recipe, Outcome: r.Outcome, Encoded: r.Encoded, FindingIDs: r.FindingIDs,
		Ended: now,
	}
	if err := tx.AddTrial(t); err != nil {
		return err
	}
	ownTally(c)
	addOutcome(c.Tally, r.Outcome, l.Recipe, r.FindingIDs)
	addUsage(c.Tally, r.Outcome, now)
	if err := errors.Join(tx.DeleteLease(l.ID), tx.PutCampaign(c)); err != nil {
		return err
	}
	return q.sources(c).Recorded(tx, t, now)
}

// Fail records an infrastructure failure of a lease: the trial waits for another attempt, or is given up when it has used its
// attempts or the failure is permanent. A trial that was only interrupted is requeued without having used an attempt.
func (q *Queue) Fail(tx store.Tx, l *store.Lease, f *misstepv1.InfrastructureFailure, now time.Time) error {
	c, err := tx.Campaign(l.Job.Campaign)
	if err != nil {
		return err
	}
	ownTally(c)
	job := l.Job
	if !f.GetInterrupted() {
		job.Failures++
	}
	switch {
	case f.GetInterrupted() && timeIsOver(c, now):
		addUnfinished(c.Tally, 1)
		return errors.Join(tx.DeleteLease(l.ID), tx.PutCampaign(c))
	case f.GetInterrupted():
		job.NotBefore = now
		return errors.Join(tx.DeleteLease(l.ID), putBack(tx, l, job))
	case f.GetPermanent() || job.Failures >= q.policy.MaxFailures || timeIsOver(c, now):
		return errors.Join(tx.DeleteLease(l.ID), q.giveUp(tx, c, l, now, f))
	}
	c.Tally.Retries++
	// Full disks and the like last longer than a trial: without a wait they would use up all attempts at once.
	job.NotBefore = now.Add(q.policy.Backoff << (2 * (job.Failures - 1)))
	return errors.Join(tx.DeleteLease(l.ID), putBack(tx, l, job), tx.PutCampaign(c))
}

// putBack requeues a lease's trial for another attempt.
func putBack(tx store.Tx, l *store.Lease, job store.Job) error {
	job.Recipe, job.Needs = l.Recipe, Needs(l.Recipe)
	return tx.PutJob(job)
}

// giveUp records that a trial has no outcome, and why.
func (q *Queue) giveUp(tx store.Tx, c *store.Campaign, l *store.Lease, now time.Time, f *misstepv1.InfrastructureFailure) error {
	t := &store.Trial{Campaign: c.ID, Index: l.Job.Index, Recipe: l.Recipe, Failure: f, Ended: now}
	if err := tx.AddTrial(t); err != nil {
		return err
	}
	ownTally(c)
	c.Tally.Failed++
	addUsage(c.Tally, nil, now)
	addUnproved(c.Tally, GivenUp, f.GetMessage(), l.Recipe.GetJdk())
	return errors.Join(tx.PutCampaign(c), q.sources(c).Recorded(tx, t, now))
}
