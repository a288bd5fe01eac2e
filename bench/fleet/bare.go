package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"misstep/coordinator/campaign"
	"misstep/coordinator/store"
	"misstep/coordinator/store/stores"
	misstepv1 "misstep/proto/misstep/v1"
)

// bareBatch is the number of results in a transaction of bare inserts.
const bareBatch = 1000

// bare returns how many results a second a store takes in by itself, with a lease for each that is inserted and deleted: no calls,
// no queue, one goroutine.
func bare(ctx context.Context, db database) (rate float64, err error) {
	st, err := stores.Open(ctx, db.bare)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	e, err := campaign.NewExpansion(submission(filledSize))
	if err != nil {
		return 0, err
	}
	const long = 5 * time.Second
	begin, n := time.Now(), uint64(0)
	for ; time.Since(begin) < long; n += bareBatch {
		leases, results := rows(e, "C1", n, bareBatch, begin)
		if err := st.Update(ctx, func(tx store.Tx) error { return insert(tx, leases, results) }); err != nil {
			return 0, err
		}
	}
	return float64(n) / time.Since(begin).Seconds(), nil
}

// rows returns leases for n trials of a campaign from an index on, and their results.
func rows(e *campaign.Expansion, of string, from, n uint64, now time.Time) (leases []*store.Lease, results []*store.Trial) {
	for i := from; i < from+n; i++ {
		leases = append(leases, &store.Lease{
			ID: fmt.Sprintf("L%016x", i*0x9e3779b97f4a7c15), Runner: fmt.Sprintf("sim-%05d", i%bareBatch),
			Job: store.Job{Campaign: of, Index: i}, Recipe: e.Recipe(i%e.Size(), i), Granted: now, Deadline: now,
		})
		o := &misstepv1.Outcome{Kind: misstepv1.OutcomeKind_OUTCOME_KIND_CLEAN}
		for _, check := range leases[len(leases)-1].Recipe.GetChecks() {
			o.Checks = append(o.Checks, &misstepv1.CheckCount{Check: check.GetName(), Total: 1000, Match: 1000})
		}
		o.Signals = &misstepv1.SignalCount{Sent: 1000, Delivered: 1000, Answered: 1000}
		results = append(results, &store.Trial{
			Campaign: of, Index: i, Recipe: leases[len(leases)-1].Recipe, Outcome: o, Ended: now,
		})
	}
	return leases, results
}

// leasesFor returns leases for the next n trials of a campaign, which ended long ago.
func leasesFor(c *store.Campaign, n uint64) ([]*store.Lease, error) {
	leases, _, err := nextRows(c, n, time.Now().Add(-time.Hour))
	return leases, err
}

// trialsFor returns results of the next n trials of a campaign.
func trialsFor(c *store.Campaign, n uint64) ([]*store.Trial, error) {
	_, results, err := nextRows(c, n, time.Now())
	return results, err
}

func nextRows(c *store.Campaign, n uint64, at time.Time) (leases []*store.Lease, results []*store.Trial, err error) {
	e, err := campaign.NewExpansion(c.Submission)
	if err != nil {
		return nil, nil, err
	}
	leases, results = rows(e, c.ID, c.Next, n, at)
	c.Next += n
	return leases, results, nil
}

func insert(tx store.Tx, leases []*store.Lease, results []*store.Trial) error {
	ids := make([]string, len(leases))
	for i, l := range leases {
		ids[i] = l.ID
	}
	if b, ok := tx.(store.Bulk); ok {
		if err := errors.Join(b.AddLeases(leases), b.DeleteLeases(ids)); err != nil {
			return err
		}
		return b.AddTrials(results)
	}
	for i, l := range leases {
		if err := errors.Join(tx.PutLease(l), tx.DeleteLease(l.ID), tx.AddTrial(results[i])); err != nil {
			return err
		}
	}
	return nil
}
