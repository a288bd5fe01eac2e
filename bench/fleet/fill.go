package main

import (
	"context"
	"errors"
	"time"

	"misstep/coordinator/campaign"
	"misstep/coordinator/store"
	"misstep/coordinator/store/stores"
	misstepv1 "misstep/proto/misstep/v1"
)

const (
	// filled is the id of the campaign whose results are in the store before a cell, which continues it.
	filled = "Cf111ed"
	// filledSize is its number of trials.
	filledSize = uint64(20_000_000)
	// smallSize is that of the campaigns of a cell whose store was empty.
	smallSize = uint64(1000)
	fillBatch = 5000
)

// fill makes the store that a URL names hold at least target results, of one campaign that runs on: through the store's own
// encoding, many in a transaction. It ends what earlier cells left. It returns how many results there are.
func fill(ctx context.Context, url string, target uint64) (stored uint64, err error) {
	st, err := stores.Open(ctx, url)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	e, err := campaign.NewExpansion(submission(filledSize))
	if err != nil {
		return 0, err
	}
	for begun := false; ; begun = true {
		err := st.Update(ctx, func(tx store.Tx) (err error) {
			if !begun {
				if err := settle(tx); err != nil {
					return err
				}
				if stored, err = countResults(tx); err != nil {
					return err
				}
			}
			if stored >= target {
				return nil
			}
			c, err := filledCampaign(tx)
			if err != nil {
				return err
			}
			n := min(fillBatch, target-stored)
			if err := addResults(tx, e, c.Next, n); err != nil {
				return err
			}
			c.Next += n
			stored += n
			return tx.PutCampaign(c)
		})
		if err != nil || stored >= target {
			return stored, err
		}
	}
}

// extend changes the campaign that fills a store, which it makes first, transaction by transaction until there is no more.
func extend(ctx context.Context, url string, change func(store.Tx, *store.Campaign) (more bool, err error)) (err error) {
	if _, err := fill(ctx, url, 1); err != nil {
		return err
	}
	st, err := stores.Open(ctx, url)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	for more := true; more; {
		err := st.Update(ctx, func(tx store.Tx) error {
			c, err := tx.Campaign(filled)
			if err != nil {
				return err
			}
			more, err = change(tx, c)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func countResults(tx store.Tx) (n uint64, err error) {
	counts, err := tx.Counts()
	for _, c := range counts {
		n += c.N
	}
	return n, err
}

func filledCampaign(tx store.Tx) (*store.Campaign, error) {
	c, err := tx.Campaign(filled)
	if errors.Is(err, store.ErrNotFound) {
		return &store.Campaign{
			ID: filled, Submission: submission(filledSize), State: misstepv1.CampaignState_CAMPAIGN_STATE_RUNNING,
			Submitted: time.Now(), Tally: &misstepv1.CampaignStatus{},
		}, nil
	}
	return c, err
}

func addResults(tx store.Tx, e *campaign.Expansion, from, n uint64) error {
	_, results := rows(e, filled, from, n, time.Now())
	if b, ok := tx.(store.Bulk); ok {
		return b.AddTrials(results)
	}
	for _, r := range results {
		if err := tx.AddTrial(r); err != nil {
			return err
		}
	}
	return nil
}

// settle ends the campaigns of earlier cells and takes back the leases of their runners, which are gone.
func settle(tx store.Tx) error {
	running, err := tx.Campaigns(true)
	if err != nil {
		return err
	}
	for _, c := range running {
		leases, err := tx.Leases(store.LeaseFilter{Campaign: c.ID})
		if err != nil {
			return err
		}
		for _, l := range leases {
			if err := tx.DeleteLease(l.ID); err != nil {
				return err
			}
		}
		jobs, err := tx.Jobs(c.ID)
		if err != nil {
			return err
		}
		for _, j := range jobs {
			if err := tx.DeleteJob(j.Campaign, j.Index); err != nil {
				return err
			}
		}
		if c.ID == filled {
			continue
		}
		c.State, c.Ended = misstepv1.CampaignState_CAMPAIGN_STATE_STOPPED, time.Now()
		if err := tx.PutCampaign(c); err != nil {
			return err
		}
	}
	return nil
}

// filling is how long a store takes for a number of results if it takes them at the rate of bare inserts.
func filling(results, bare float64) time.Duration {
	return time.Duration(max(0, results) / bare * float64(time.Second))
}
