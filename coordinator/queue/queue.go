// Package queue decides which trial a runner gets next and what becomes of it: it creates trials of running campaigns as runners
// ask for them, leases them, requeues lost ones, retries infrastructure failures, and ends campaigns.
//
// Every function works inside a transaction of the store and takes the time as a parameter, so a decision is made from one
// state and is either stored whole or not at all. A trial is in one of four states at any time: not made yet (its index is at
// or above the campaign's Next), waiting for another attempt, leased, or recorded.
package queue

import (
	"time"

	"misstep/coordinator/plausible"
	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
)

// Policy holds the durations and bounds of a queue.
type Policy struct {
	// LeaseTime is how long a runner may be silent before it loses its leases.
	LeaseTime time.Duration
	// Grace is the time that running trials still get when their campaign's time is over; then they are cancelled.
	Grace time.Duration
	// MaxFailures is the number of infrastructure failures after which a trial is given up.
	MaxFailures uint32
	// MaxLost is the number of lost leases after which a trial is given up. It is greater than MaxFailures because a lost lease
	// says nothing about the trial unless it happens again and again: then the trial crashes its runner's machine.
	MaxLost uint32
	// Backoff is the wait before the second attempt; each further attempt waits four times as long.
	Backoff time.Duration
}

// DefaultPolicy returns the policy that a coordinator uses by default.
func DefaultPolicy() Policy {
	return Policy{LeaseTime: time.Minute, Grace: 30 * time.Second, MaxFailures: 3, MaxLost: 10, Backoff: 2 * time.Second}
}

// Queue applies a policy.
type Queue struct {
	policy  Policy
	newID   func() string
	sources func(*store.Campaign) Source
}

// Source provides the trials of one campaign and receives their results. It is created for one transaction from the campaign's row.
type Source interface {
	// Recipe returns the recipe of the trial with that index, the same each time until a result is recorded. It returns nil when
	// the source does not make trials as runners ask for them, but puts its jobs itself, with their recipes.
	Recipe(index uint64) (*misstepv1.Recipe, error)
	// Recorded is called for every result, last in the transaction that records it. It may put further jobs, and change and put the
	// campaign.
	Recorded(tx store.Tx, t *store.Trial, now time.Time) error
}

// New returns a queue whose lease ids come from newID, which must never return an id twice, and whose trials come from sources.
func New(p Policy, newID func() string, sources func(*store.Campaign) Source) *Queue {
	return &Queue{policy: p, newID: newID, sources: sources}
}

// Recover extends every lease to a full lease time from now. A coordinator calls it once after its start: runners could not renew
// their leases while it was down, and what they hold is still valid.
func (q *Queue) Recover(tx store.Tx, now time.Time) error {
	return tx.ExtendLeases(now.Add(q.policy.LeaseTime))
}

// Renew extends the deadline of a lease whose runner called. It writes only when a third of the lease time has passed, so that a
// fleet that calls often does not make the store write as often. A lease that is older than any trial of its recipe is not renewed:
// it expires, and its trial waits for another runner.
func (q *Queue) Renew(tx store.Tx, l *store.Lease, now time.Time) error {
	if l.Deadline.Sub(now) > q.policy.LeaseTime*2/3 || tooOld(l, now) {
		return nil
	}
	l.Deadline = now.Add(q.policy.LeaseTime)
	return tx.PutLease(l)
}

// tooOld reports whether no trial lasts as long as a lease did. Leases of older versions have no time at which they were granted.
func tooOld(l *store.Lease, now time.Time) bool {
	return !l.Granted.IsZero() && now.Sub(l.Granted) > plausible.Longest(l.Recipe)
}

// recipeOf returns the recipe of a waiting job. Stores written by older versions have none for a campaign's job; there it follows
// from the index.
func recipeOf(source Source, j store.Job) (*misstepv1.Recipe, error) {
	if j.Recipe != nil {
		return j.Recipe, nil
	}
	return source.Recipe(j.Index)
}
