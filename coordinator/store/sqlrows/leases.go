package sqlrows

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
)

const leaseColumns = "id, runner, campaign, idx, failures, lost, recipe, template, granted, deadline"

// putLease inserts nothing when another lease holds the trial.
var putLease = "INSERT INTO leases (" + leaseColumns + ") SELECT " + parameters(leaseColumns) +
	" WHERE NOT EXISTS (SELECT 1 FROM leases WHERE campaign = ? AND idx = ? AND id <> ?)" + replace("id", leaseColumns)

// renewLease changes a lease that stays with its trial.
const renewLease = "UPDATE leases SET runner = ?, failures = ?, lost = ?, recipe = ?, template = ?, granted = ?, deadline = ? " +
	"WHERE id = ? AND campaign = ? AND idx = ?"

// PutLease implements store.Tx. Most leases that are put one by one are renewed.
func (t *Tx) PutLease(l *store.Lease) error {
	v, err := t.leaseRow(l)
	if err != nil {
		return err
	}
	what := "store lease " + l.ID
	n, err := t.change(what, renewLease, v[1], v[4], v[5], v[6], v[7], v[8], v[9], v[0], v[2], v[3])
	if err != nil || n > 0 {
		return err
	}
	var before string // the campaign that it had
	err = t.row("SELECT campaign FROM leases WHERE id = ?", l.ID)(&before)
	moved := err == nil
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("%s: %w", what, err)
	}
	n, err = t.change(what, putLease, append(v, v[2], v[3], l.ID)...)
	if err != nil {
		return err
	}
	if n == 0 {
		return fmt.Errorf("%s: a lease for trial %d of campaign %s: %w", what, l.Job.Index, l.Job.Campaign, store.ErrExists)
	}
	if moved {
		t.addQueued(before, queued{leases: -1})
	}
	t.addQueued(l.Job.Campaign, queued{leases: 1})
	return nil
}

// AddLeases implements store.Bulk.
func (t *Tx) AddLeases(all []*store.Lease) error {
	if err := insert(t, "leases", "leases", leaseColumns, " ON CONFLICT DO NOTHING", all, t.leaseRow); err != nil {
		return err
	}
	for _, l := range all {
		t.addQueued(l.Job.Campaign, queued{leases: 1})
	}
	return nil
}

// RenewLeases implements store.Bulk. Both databases name the columns of VALUES like this.
func (t *Tx) RenewLeases(all []*store.Lease) error {
	const one = "(CAST(? AS TEXT), CAST(? AS BIGINT))"
	for chunk := range chunks(all) {
		args := make([]any, 0, 2*len(chunk))
		for _, l := range chunk {
			args = append(args, l.ID, nanos(l.Deadline))
		}
		n, err := t.change("renew leases", "UPDATE leases SET deadline = v.column2 FROM (VALUES "+one+
			strings.Repeat(","+one, len(chunk)-1)+") AS v WHERE leases.id = v.column1", args...)
		if err != nil {
			return err
		}
		if int(n) < len(chunk) {
			return fmt.Errorf("renew leases: %d of %d: %w", len(chunk)-int(n), len(chunk), store.ErrNotFound)
		}
	}
	return nil
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
	for list, args := range lists(ids) {
		t.wrote = true
		campaigns, err := List(t, "deleted leases", func(scan func(...any) error) (c string, err error) { return c, scan(&c) },
			"DELETE FROM leases WHERE id IN ("+list+") RETURNING campaign", args...)
		if err != nil {
			return err
		}
		for _, c := range campaigns {
			t.addQueued(c, queued{leases: -1})
		}
	}
	return nil
}

// DeleteLease implements store.Tx.
func (t *Tx) DeleteLease(id string) error { return t.DeleteLeases([]string{id}) }

// ExtendLeases implements store.Tx.
func (t *Tx) ExtendLeases(deadline time.Time) error {
	return t.Exec("extend leases", "UPDATE leases SET deadline = ? WHERE deadline < ?", nanos(deadline), nanos(deadline))
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
	return partial[*store.Lease]{&l, &l.Recipe, recipe, template}, err
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
	all, err := t.leases(f)
	if f.Limit > 0 && err == nil {
		all = f.Earliest(all)
	}
	return all, err
}

// leases is Leases without the limit, which it may keep to.
func (t *Tx) leases(f store.LeaseFilter) ([]*store.Lease, error) {
	query, args := "SELECT "+leaseColumns+" FROM leases WHERE TRUE", []any{}
	if f.Campaign != "" {
		query, args = query+" AND campaign = ?", append(args, f.Campaign)
	}
	if f.Runner != "" {
		query, args = query+" AND runner = ?", append(args, f.Runner)
	}
	if f.Owner != "" { // '!' follows the space; the names of other owners may begin with this one and a space
		query, args = query+" AND runner >= ? AND runner < ?", append(args, f.Owner+" ", f.Owner+"!")
	}
	if !f.ExpiredAt.IsZero() {
		query, args = query+" AND deadline <= ?", append(args, nanos(f.ExpiredAt))
	}
	if len(f.Runners) == 0 {
		order := " ORDER BY granted, id"
		if f.Limit > 0 && f.Owner == "" {
			order, args = " ORDER BY deadline, id LIMIT ?", append(args, f.Limit)
		}
		rows, err := List(t, "leases", scanLease, query+order, args...)
		all, err := whole(t, rows, err)
		if f.Owner != "" {
			all = slices.DeleteFunc(all, func(l *store.Lease) bool { return !f.Matches(l) })
		}
		return all, err
	}
	var all []*store.Lease
	for list, runners := range lists(slices.Compact(slices.Sorted(slices.Values(f.Runners)))) {
		rows, err := List(t, "leases", scanLease, query+" AND runner IN ("+list+")", slices.Concat(args, runners)...)
		leases, err := whole(t, rows, err)
		if err != nil {
			return nil, err
		}
		all = append(all, leases...)
	}
	slices.SortFunc(all, func(a, b *store.Lease) int { return cmp.Or(a.Granted.Compare(b.Granted), cmp.Compare(a.ID, b.ID)) })
	return all, nil
}
