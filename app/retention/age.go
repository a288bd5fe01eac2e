package retention

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"misstep/coordinator/store"
)

// page is the number of trials of one transaction.
const page = 200

// worker is the name under which the store keeps up to which trial of each campaign all have aged.
const worker = "retention"

// Aged is what a round took from trials and from the catalogue, or would have taken.
type Aged struct {
	Trials int
	// Evidence in bytes that those trials no longer refer to.
	Evidence int64
	// Entries of the shared catalogue whose time was over.
	Entries int
}

// Age applies the rules to the trials of a store; without remove it only counts. It works in short transactions.
func Age(ctx context.Context, st store.Store, rules Rules, now time.Time, remove bool) (Aged, error) {
	var total Aged
	if !rules.any() {
		return total, nil
	}
	done, campaigns, err := position(ctx, st)
	if err != nil {
		return total, fmt.Errorf("age trials: %w", err)
	}
	sums, err := loadSizes(ctx, st, done)
	if err != nil {
		return total, fmt.Errorf("age trials: %w", err)
	}
	cutoff, err := rules.cutoff(ctx, st, campaigns, sums, now)
	if err != nil {
		return total, fmt.Errorf("age trials: %w", err)
	}
	for _, c := range campaigns {
		for after, more := done[c], true; more; {
			var due []*store.Trial
			if due, after, more, err = duePage(ctx, st, c, after, cutoff); err != nil {
				return total, fmt.Errorf("age trials of campaign %s: %w", c, err)
			}
			if remove && after > done[c] {
				done[c] = after
				if err := strip(ctx, st, due, done); err != nil {
					return total, fmt.Errorf("age trials of campaign %s: %w", c, err)
				}
			}
			for _, t := range due {
				total.Trials++
				total.Evidence += sizeOf(t.Outcome)
				sums.add(t, -1)
			}
		}
	}
	if !remove || rules.Evidence <= 0 {
		return total, nil
	}
	if err := sums.store(ctx, st, done); err != nil {
		return total, fmt.Errorf("age trials: %w", err)
	}
	return total, nil
}

// position returns the campaigns, and for each the last trial up to which all have aged.
func position(ctx context.Context, st store.Store) (done map[string]uint64, campaigns []string, err error) {
	done = map[string]uint64{}
	err = st.View(ctx, func(tx store.Tx) error {
		rows, err := tx.Campaigns(false)
		if err != nil {
			return err
		}
		for _, c := range rows {
			campaigns = append(campaigns, c.ID)
		}
		data, err := tx.WorkerState(worker)
		if err != nil || data == nil {
			return err
		}
		return json.Unmarshal(data, &done)
	})
	return done, campaigns, err
}

// duePage returns those of the next trials of a campaign that age, and the last trial looked at. Trials are in the order of their
// ends, so the first one that is too young ends it.
func duePage(
	ctx context.Context, st store.Store, campaign string, after uint64, cutoff time.Time,
) (due []*store.Trial, last uint64, more bool, err error) {
	last = after
	err = st.View(ctx, func(tx store.Tx) error {
		trials, err := tx.Trials(campaign, after, page)
		if err != nil {
			return err
		}
		more = len(trials) == page
		for _, t := range trials {
			if !t.Ended.Before(cutoff) {
				more = false
				return nil
			}
			last = t.ID
			if ages(t) {
				due = append(due, t)
			}
		}
		return nil
	})
	return due, last, more, err
}

// strip takes from trials what ages, and notes how far it has come.
func strip(ctx context.Context, st store.Store, due []*store.Trial, done map[string]uint64) error {
	state, err := json.Marshal(done)
	if err != nil {
		return err
	}
	return st.Update(ctx, func(tx store.Tx) error {
		for _, t := range due {
			if err := tx.PutOutcome(t.ID, slim(t.Outcome)); err != nil {
				return err
			}
		}
		return tx.PutWorkerState(worker, state)
	})
}

// cutoff is the time before which trials age. For the size of the evidence it looks at the sums by hour.
func (r Rules) cutoff(
	ctx context.Context, st store.Store, campaigns []string, sums *sizes, now time.Time,
) (time.Time, error) {
	var cutoff time.Time
	if r.Trials > 0 {
		cutoff = now.Add(-r.Trials)
	}
	if r.Evidence <= 0 {
		return cutoff, nil
	}
	if err := sums.update(ctx, st, campaigns, now); err != nil {
		return cutoff, err
	}
	if end := sums.over(r.Evidence); end.After(cutoff) {
		cutoff = end
	}
	if cutoff.After(now) {
		cutoff = now
	}
	return cutoff, nil
}
