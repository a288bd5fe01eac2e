// Package queue decides which trial a runner gets next and what becomes of it: it makes trials of running campaigns as
// runners ask for them, leases them, takes back what is lost, retries what the infrastructure spoilt, and ends campaigns.
//
// Every function works inside a transaction of the store and takes the time as a parameter, so a decision is made from one
// state and is either stored whole or not at all. A trial is in one of four places at any time: not made yet (its index is at
// or above the campaign's Next), waiting for another attempt, leased, or recorded.
package queue

import (
	"time"

	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
)

// Policy holds the durations and bounds of a queue.
type Policy struct {
	// LeaseTime that a runner may be silent before it loses its leases.
	LeaseTime time.Duration
	// Grace that running trials have when their campaign's time is over; then they are cancelled.
	Grace time.Duration
	// MaxFailures of the infrastructure after which a trial is given up.
	MaxFailures uint32
	// MaxLost leases after which a trial is given up. It is more than MaxFailures because a lost lease says nothing about the
	// trial unless it happens again and again: then the trial takes its runner's machine down.
	MaxLost uint32
	// Backoff before the second attempt; each further one waits four times as long.
	Backoff time.Duration
}

// DefaultPolicy is what a coordinator uses when nothing else is said.
func DefaultPolicy() Policy {
	return Policy{LeaseTime: time.Minute, Grace: 30 * time.Second, MaxFailures: 3, MaxLost: 10, Backoff: 2 * time.Second}
}

// Queue applies a policy.
type Queue struct {
	policy  Policy
	newID   func() string
	sources func(*store.Campaign) Source
}

// Source gives the trials of one campaign, and is told how they end. It is made for one transaction from the campaign's row.
type Source interface {
	// Recipe of the trial with that index, the same each time until a result is recorded. Nil when the source makes no trials as
	// runners ask for them: it puts its jobs itself, with their recipes.
	Recipe(index uint64) (*misstepv1.Recipe, error)
	// Recorded is told of every result, last in the transaction that records it. It may put further jobs, and change and put the
	// campaign.
	Recorded(tx store.Tx, t *store.Trial, now time.Time) error
}

// New returns a queue whose lease ids come from newID, which must never give an id twice, and whose trials come from sources.
func New(p Policy, newID func() string, sources func(*store.Campaign) Source) *Queue {
	return &Queue{policy: p, newID: newID, sources: sources}
}

// Recover gives every lease a full lease time from now. A coordinator calls it once after its start: runners could not renew
// while it was away, and what they hold is still good.
func (q *Queue) Recover(tx store.Tx, now time.Time) error {
	leases, err := tx.Leases(store.LeaseFilter{})
	if err != nil {
		return err
	}
	for _, l := range leases {
		if deadline := now.Add(q.policy.LeaseTime); l.Deadline.Before(deadline) {
			l.Deadline = deadline
			if err := tx.PutLease(l); err != nil {
				return err
			}
		}
	}
	return nil
}

// Renew moves the deadline of a lease whose runner called. It writes only when a third of the lease time has gone, so that
// a fleet that calls often does not make the store write as often.
func (q *Queue) Renew(tx store.Tx, l *store.Lease, now time.Time) error {
	if l.Deadline.Sub(now) > q.policy.LeaseTime*2/3 {
		return nil
	}
	l.Deadline = now.Add(q.policy.LeaseTime)
	return tx.PutLease(l)
}

// recipeOf returns the recipe of a job that waits. Stores of older versions have none with a campaign's job: it follows from the
// index.
func recipeOf(source Source, j store.Job) (*misstepv1.Recipe, error) {
	if j.Recipe != nil {
		return j.Recipe, nil
	}
	return source.Recipe(j.Index)
}
