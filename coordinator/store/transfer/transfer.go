// Package transfer copies a whole store into another one, of any kind, and compares the two.
package transfer

import (
	"context"
	"errors"
	"fmt"

	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
)

// page is the number of rows that are written in one transaction.
const page = 500

// Copy copies every row of a store, which name names, as of one moment into an empty one, and returns what both then have, table by
// table. It fails when the target is not empty, and when the target then differs. progress is told how many rows of a table were
// copied so far.
//
// From the first transaction to the last the target is marked as incomplete (store.PropertyIncomplete). A target that has the mark
// of an earlier copy is emptied. In the end it has the source's identity.
func Copy(ctx context.Context, name string, from, to store.Store, progress func(table string, rows uint64)) ([]Table, error) {
	m := newMark(name)
	if err := m.begin(ctx, to); err != nil {
		return nil, err
	}
	var want []Table
	var id string
	begun := false
	err := from.View(ctx, func(tx store.Tx) error {
		if begun {
			return errors.New("the source was lost during the copy: empty the target and copy again")
		}
		begun = true
		source, err := loader(tx)
		if err != nil {
			return fmt.Errorf("the source: %w", err)
		}
		c := &copying{ctx: ctx, source: source, to: to, mark: m, progress: progress}
		if err := c.all(); err != nil {
			return err
		}
		if id, err = source.Property(store.PropertyID); err != nil {
			return err
		}
		want, err = Tables(source)
		return err
	})
	if err != nil {
		return nil, err
	}
	have, err := TablesOf(ctx, to)
	if err != nil {
		return nil, err
	}
	if err := compare(want, have); err != nil {
		return nil, err
	}
	return have, m.end(ctx, to, id)
}

func loader(tx store.Tx) (store.Loader, error) {
	l, ok := tx.(store.Loader)
	if !ok {
		return nil, errors.New("a store in memory cannot be copied: give a folder, a file, or a database")
	}
	return l, nil
}

func compare(want, have []Table) error {
	var all error
	for i := range want {
		if want[i] != have[i] {
			all = errors.Join(all, fmt.Errorf("%s: the source has %d rows (%s), the target %d (%s)", want[i].Name, want[i].Rows,
				want[i].Digest, have[i].Rows, have[i].Digest))
		}
	}
	if all != nil {
		return fmt.Errorf("the copy differs, do not use it: %w", all)
	}
	return nil
}

// copying is a copy under way.
type copying struct {
	ctx      context.Context //nolint:containedctx // a copy lives inside one call
	source   store.Loader
	to       store.Store
	mark     mark
	progress func(table string, rows uint64)
}

func (c *copying) all() error {
	campaigns, err := c.source.Campaigns(false)
	if err != nil {
		return err
	}
	for _, step := range []func() error{
		func() error { return write(c, "campaigns", campaigns, store.Loader.PutCampaign) },
		func() error { return c.ofCampaigns(campaigns) },
		copyOf(c, "leases", func() ([]*store.Lease, error) { return c.source.Leases(store.LeaseFilter{}) }, store.Loader.PutLease),
		copyOf(c, "findings", c.source.Findings, store.Loader.PutFinding),
		copyOf(c, "decisions", c.source.Decisions, store.Loader.LoadDecision),
		copyOf(c, "known bugs", c.source.KnownBugs, store.Loader.PutKnownBug),
		copyOf(c, "visibility", c.source.Visibilities, store.Loader.PutVisibility),
		copyOf(c, "reproductions", func() ([]*misstepv1.Reproduction, error) { return c.source.Reproductions(false) },
			store.Loader.PutReproduction),
		copyOf(c, "catalogue", func() ([]*misstepv1.CatalogueEntry, error) { return c.source.CatalogueEntries(everyKind) },
			store.Loader.PutCatalogueEntry),
		copyOf(c, "schedules", c.source.Schedules, store.Loader.PutSchedule),
		copyOf(c, "retests", func() ([]*misstepv1.Retest, error) { return c.source.Retests() }, store.Loader.PutRetest),
		copyOf(c, "repetitions", func() ([]*store.Repetition, error) { return c.source.Repetitions(store.RepetitionFilter{}) },
			store.Loader.PutRepetition),
		copyOf(c, "workers", c.source.WorkerNames, c.worker),
		copyOf(c, "tokens", c.source.Tokens, store.Loader.PutToken),
		copyOf(c, "access", c.source.Access, store.Loader.PutAccess),
		c.auditLog,
		func() error {
			return c.to.Update(c.ctx, func(tx store.Tx) error {
				to, err := c.mark.target(tx)
				if err != nil {
					return err
				}
				return to.Loaded()
			})
		},
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// copyOf returns a step that copies a table.
func copyOf[T any](c *copying, table string, list func() ([]T, error), put func(store.Loader, T) error) func() error {
	return func() error {
		rows, err := list()
		if err != nil {
			return err
		}
		return write(c, table, rows, put)
	}
}

func (c *copying) worker(to store.Loader, name string) error {
	data, err := c.source.WorkerState(name)
	if err != nil {
		return err
	}
	return to.PutWorkerState(name, data)
}

// auditLog copies the entries, the newest first, a page at a time.
func (c *copying) auditLog() error {
	var done uint64
	for before := uint64(0); ; {
		rows, err := c.source.Audit(store.AuditFilter{Before: before, Limit: page})
		if err != nil || len(rows) == 0 {
			return err
		}
		before = rows[len(rows)-1].GetId()
		if err := update(c, rows, store.Loader.LoadAudit); err != nil {
			return err
		}
		done += uint64(len(rows))
		c.progress("audit log", done)
	}
}

// ofCampaigns copies jobs and trials. Only a page of trials is in memory at a time.
func (c *copying) ofCampaigns(campaigns []*store.Campaign) error {
	var trials uint64
	for _, campaign := range campaigns {
		jobs, err := c.source.Jobs(campaign.ID)
		if err != nil {
			return err
		}
		if err := write(c, "jobs", jobs, store.Loader.PutJob); err != nil {
			return err
		}
		for after := uint64(0); ; {
			rows, err := c.source.Trials(campaign.ID, after, page)
			if err != nil {
				return err
			}
			if len(rows) == 0 {
				break
			}
			after = rows[len(rows)-1].ID
			if err := update(c, rows, store.Loader.LoadTrial); err != nil {
				return err
			}
			trials += uint64(len(rows))
			c.progress("trials", trials)
		}
	}
	return nil
}

// write writes the rows of a table, page by page.
func write[T any](c *copying, table string, rows []T, put func(store.Loader, T) error) error {
	for done := 0; done < len(rows); {
		part := rows[done:min(done+page, len(rows))]
		if err := update(c, part, put); err != nil {
			return err
		}
		done += len(part)
		c.progress(table, uint64(done))
	}
	return nil
}

// update writes rows in one transaction.
func update[T any](c *copying, rows []T, put func(store.Loader, T) error) error {
	return c.to.Update(c.ctx, func(tx store.Tx) error {
		to, err := c.mark.target(tx)
		if err != nil {
			return fmt.Errorf("the target: %w", err)
		}
		for _, row := range rows {
			if err := put(to, row); err != nil {
				return err
			}
		}
		return nil
	})
}
