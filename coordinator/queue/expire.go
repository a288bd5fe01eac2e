package queue

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
)

// expiredAtOnce bounds the leases that a transaction expires, beside those of the runners that call.
const expiredAtOnce = 256

// ExpireOf expires the overdue leases of a runner that called at that time. What Advance has left of them must not be renewed.
func (q *Queue) ExpireOf(tx store.Tx, runner string, called time.Time) error {
	lost, err := tx.Leases(store.LeaseFilter{Runner: runner, ExpiredAt: called})
	if err != nil {
		return err
	}
	return q.expire(tx, lost, called)
}

// expire ends leases that their runners have not renewed; their trials wait for other runners. Each campaign is changed once.
func (q *Queue) expire(tx store.Tx, lost []*store.Lease, now time.Time) error {
	back := map[string][]*store.Lease{} // leases whose trials wait again, by campaign
	for _, l := range lost {
		again, err := q.end(tx, l, now)
		if err != nil {
			return fmt.Errorf("expire lease %s: %w", l.ID, err)
		}
		if again {
			back[l.Job.Campaign] = append(back[l.Job.Campaign], l)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(back)) {
		if err := requeue(tx, id, back[id], now); err != nil {
			return fmt.Errorf("expire %d leases of campaign %s: %w", len(back[id]), id, err)
		}
	}
	return nil
}

// end deletes a lost lease. It reports whether its trial has to wait for another runner: repetitions see to that themselves, and a
// trial that lost too many runners is given up.
func (q *Queue) end(tx store.Tx, l *store.Lease, now time.Time) (again bool, err error) {
	if _, repeats := store.Repeated(l.Job.Campaign); repeats {
		return false, q.FailRepetition(tx, l, false)
	}
	if err := tx.DeleteLease(l.ID); err != nil {
		return false, err
	}
	lost := l.Job.Lost + 1
	if lost < q.policy.MaxLost {
		return true, nil
	}
	c, err := tx.Campaign(l.Job.Campaign)
	if err != nil {
		return false, err
	}
	return false, q.giveUp(tx, c, l, now, &misstepv1.InfrastructureFailure{
		Message: fmt.Sprintf("%d runners were lost while they held this trial, most recently %s", lost, l.Runner),
	})
}

// requeue lets the trials of lost leases wait for another runner, or counts them as unfinished when their campaign is over.
func requeue(tx store.Tx, campaign string, lost []*store.Lease, now time.Time) error {
	c, err := tx.Campaign(campaign)
	if err != nil {
		return err
	}
	ownTally(c)
	if timeIsOver(c, now) {
		addUnfinished(c.Tally, uint64(len(lost)))
		return tx.PutCampaign(c)
	}
	c.Tally.Retries += uint64(len(lost))
	for _, l := range lost {
		job := l.Job
		job.Lost++
		job.NotBefore = now
		err = errors.Join(err, putBack(tx, l, job))
	}
	return errors.Join(err, tx.PutCampaign(c))
}
