package sqlrows

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"misstep/coordinator/store"
)

// queued are numbers of a campaign's jobs and leases. They are kept in a row of their own, since counting rows would take the
// longer the larger the fleet is.
type queued struct{ jobs, leases int64 }

func (q queued) plus(o queued) queued { return queued{q.jobs + o.jobs, q.leases + o.leases} }

// addQueued notes that a campaign has more jobs and leases, or fewer. Finish writes it.
func (t *Tx) addQueued(campaign string, by queued) {
	if t.queued == nil {
		t.queued = map[string]queued{}
	}
	t.queued[campaign] = t.queued[campaign].plus(by)
}

const addToQueued = "INSERT INTO queued (campaign, jobs, leases) VALUES (?,?,?) ON CONFLICT (campaign) DO UPDATE " +
	"SET jobs = queued.jobs + excluded.jobs, leases = queued.leases + excluded.leases"

// Finish writes what is kept beside the rows. A store calls it at the end of each transaction that it commits.
func (t *Tx) Finish() error {
	for _, campaign := range slices.Sorted(maps.Keys(t.queued)) {
		by := t.queued[campaign]
		if by == (queued{}) {
			continue // as many came as went
		}
		what := "count what is queued of campaign " + campaign
		if err := t.Exec(what, addToQueued, campaign, by.jobs, by.leases); err != nil {
			return err
		}
	}
	clear(t.queued)
	return nil
}

// queuedOf returns what a campaign has, with what is not written yet.
func (t *Tx) queuedOf(campaign string) (queued, error) {
	var q queued
	err := t.row("SELECT jobs, leases FROM queued WHERE campaign = ?", campaign)(&q.jobs, &q.leases)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return q, fmt.Errorf("count what is queued of campaign %s: %w", campaign, err)
	}
	return q.plus(t.queued[campaign]), nil
}

// CountJobs implements store.Tx.
func (t *Tx) CountJobs(campaign string) (uint64, error) {
	q, err := t.queuedOf(campaign)
	return uint64(q.jobs), err
}

// CountLeases implements store.Tx.
func (t *Tx) CountLeases(campaign string) (uint64, error) {
	q, err := t.queuedOf(campaign)
	return uint64(q.leases), err
}
