package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"

	"misstep/coordinator/store"
	"misstep/coordinator/store/stores"
)

// acknowledged is a result that a coordinator acknowledged to a runner.
type acknowledged struct {
	trial  trialID
	inTime bool
}

type trialID struct {
	campaign string
	index    uint64
}

// audit compares acknowledged results with the store.
type audit struct {
	Acknowledged, Recorded int
	// Late results were dropped, since their leases were lost.
	Late int
	// Lost results were acknowledged in time and are not in the store, or trials are neither recorded nor waiting nor leased.
	Lost int
	// Doubled are leases with two results, and trials of which two results were acknowledged in time.
	Doubled int
}

// readLedger reads what a book wrote, by lease.
func readLedger(path string) (map[string]acknowledged, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read the ledger: %w", err)
	}
	defer file.Close()
	all := map[string]acknowledged{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var lease string
		var a acknowledged
		if _, err := fmt.Sscan(lines.Text(), &lease, &a.trial.campaign, &a.trial.index, &a.inTime); err != nil {
			return nil, fmt.Errorf("read the ledger: line %q: %w", lines.Text(), err)
		}
		all[lease] = a
	}
	return all, nil
}

// auditStore compares a ledger with the store that a URL names, which nobody uses.
func auditStore(ctx context.Context, url, ledger string) (a audit, err error) {
	all, err := readLedger(ledger)
	if err != nil {
		return a, err
	}
	st, err := stores.Open(ctx, url)
	if err != nil {
		return a, err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	err = st.View(ctx, func(tx store.Tx) error {
		a, err = compareWith(tx, all)
		return err
	})
	return a, err
}

func compareWith(tx store.Tx, all map[string]acknowledged) (a audit, err error) {
	a.Acknowledged = len(all)
	campaigns, err := tx.Campaigns(false)
	if err != nil {
		return a, err
	}
	recorded := map[trialID]string{} // the lease
	of := map[string]int{}
	for _, c := range campaigns {
		there := map[uint64]bool{}
		for after := uint64(0); ; {
			const page = 5000
			trials, err := tx.Trials(c.ID, after, page)
			if err != nil {
				return a, err
			}
			for _, t := range trials {
				after, there[t.Index] = t.ID, true
				recorded[trialID{c.ID, t.Index}] = t.Outcome.GetReason()
				of[t.Outcome.GetReason()]++
			}
			a.Recorded += len(trials)
			if len(trials) < page {
				break
			}
		}
		if err := noteUnrecorded(tx, c.ID, there); err != nil {
			return a, err
		}
		for i := range c.Next {
			if !there[i] {
				a.Lost++
			}
		}
	}
	twice := map[trialID]bool{}
	for lease, one := range all {
		switch {
		case of[lease] > 1 || one.inTime && twice[one.trial]:
			a.Doubled++
		case recorded[one.trial] == lease:
		case one.inTime:
			a.Lost++
		default:
			a.Late++
		}
		twice[one.trial] = twice[one.trial] || one.inTime
	}
	return a, nil
}

// noteUnrecorded notes the trials of a campaign that wait or run.
func noteUnrecorded(tx store.Tx, campaign string, there map[uint64]bool) error {
	jobs, err := tx.Jobs(campaign)
	if err != nil {
		return err
	}
	leases, err := tx.Leases(store.LeaseFilter{Campaign: campaign})
	if err != nil {
		return err
	}
	for _, j := range jobs {
		there[j.Index] = true
	}
	for _, l := range leases {
		there[l.Job.Index] = true
	}
	return nil
}
