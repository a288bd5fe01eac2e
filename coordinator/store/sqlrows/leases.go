package sqlrows

import (
	"fmt"
	"strings"

	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
)

const leaseColumns = "id, runner, campaign, idx, failures, lost, recipe, template, granted, deadline"

// putLease inserts nothing when another lease holds the trial.
var putLease = "INSERT INTO leases (" + leaseColumns + ") SELECT " + parameters(leaseColumns) +
	" WHERE NOT EXISTS (SELECT 1 FROM leases WHERE campaign = ? AND idx = ? AND id <> ?)" + replace("id", leaseColumns)

// PutLease implements store.Tx.
func (t *Tx) PutLease(l *store.Lease) error {
	values, err := t.leaseRow(l)
	if err != nil {
		return err
	}
	campaign, index := l.Job.Campaign, int64(l.Job.Index)
	n, err := t.change("store lease "+l.ID, putLease, append(values, campaign, index, l.ID)...)
	if err == nil && n == 0 {
		err = fmt.Errorf("store lease %s: a lease for trial %d of campaign %s: %w", l.ID, index, campaign, store.ErrExists)
	}
	return err
}

// AddLeases implements store.Bulk.
func (t *Tx) AddLeases(all []*store.Lease) error {
	return insert(t, "leases", "leases", leaseColumns, " ON CONFLICT DO NOTHING", all, t.leaseRow)
}

func (t *Tx) leaseRow(l *store.Lease) ([]any, error) {
	recipe, template, err := t.writeRecipe(l.Recipe)
	if err != nil {
		return nil, fmt.Errorf("write lease %s: %w", l.ID, err)
	}
	return []any{
		l.ID, l.Runner, l.Job.Campaign, int64(l.Job.Index), l.Job.Failures, l.Job.Lost, recipe, template,
		nanos(l.Granted), nanos(l.Deadline),
	}, nil
}

// DeleteLeases implements store.Bulk.
func (t *Tx) DeleteLeases(ids []string) error {
	for chunk := range chunks(ids) {
		args := make([]any, len(chunk))
		for i, id := range chunk {
			args[i] = id
		}
		if err := t.Exec("delete leases", "DELETE FROM leases WHERE id IN (?"+strings.Repeat(",?", len(chunk)-1)+")",
			args...); err != nil {
			return err
		}
	}
	return nil
}

// DeleteLease implements store.Tx.
func (t *Tx) DeleteLease(id string) error {
	return t.Exec("delete lease "+id, "DELETE FROM leases WHERE id = ?", id)
}

func scanLease(scan func(...any) error) (partial[*store.Lease], error) {
	var (
		l                                  store.Lease
		recipe                             any
		index, template, granted, deadline int64
	)
	if err := scan(&l.ID, &l.Runner, &l.Job.Campaign, &index, &l.Job.Failures, &l.Job.Lost, &recipe, &template, &granted,
		&deadline); err != nil {
		return partial[*store.Lease]{}, err
	}
	l.Job.Index, l.Granted, l.Deadline = uint64(index), fromNanos(granted), fromNanos(deadline)
	var err error
	l.Recipe, err = Unmarshal(recipe, &misstepv1.Recipe{})
	return partial[*store.Lease]{&l, &l.Recipe, template}, err
}

// Lease implements store.Tx.
func (t *Tx) Lease(id string) (*store.Lease, error) {
	row, err := scanLease(t.row("SELECT "+leaseColumns+" FROM leases WHERE id = ?", id))
	l, err := one(t, row, err)
	if err != nil {
		return nil, fmt.Errorf("lease %q: %w", id, err)
	}
	return l, nil
}

// Leases implements store.Tx.
func (t *Tx) Leases(f store.LeaseFilter) ([]*store.Lease, error) {
	query, args := "SELECT "+leaseColumns+" FROM leases WHERE TRUE", []any{}
	if f.Campaign != "" {
		query, args = query+" AND campaign = ?", append(args, f.Campaign)
	}
	if f.Runner != "" {
		query, args = query+" AND runner = ?", append(args, f.Runner)
	}
	if n := len(f.Runners); n > 0 {
		query += " AND runner IN (?" + strings.Repeat(",?", n-1) + ")"
		for _, r := range f.Runners {
			args = append(args, r)
		}
	}
	if !f.ExpiredAt.IsZero() {
		query, args = query+" AND deadline <= ?", append(args, nanos(f.ExpiredAt))
	}
	rows, err := List(t, "leases", scanLease, query+" ORDER BY granted, id", args...)
	return whole(t, rows, err)
}

// CountLeases implements store.Tx.
func (t *Tx) CountLeases(campaign string) (uint64, error) {
	var n int64
	if err := t.row("SELECT count(*) FROM leases WHERE campaign = ?", campaign)(&n); err != nil {
		return 0, fmt.Errorf("count the leases of campaign %s: %w", campaign, err)
	}
	return uint64(n), nil
}
