package batch

import (
	"cmp"
	"slices"
	"time"

	"misstep/coordinator/store"
)

// preload reads the leases of runners at once.
func (o *overlay) preload(runners []string) error {
	var wanted []string
	for _, r := range runners {
		if r != "" && !o.wholeRunners[r] {
			o.wholeRunners[r] = true
			wanted = append(wanted, r)
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	below, err := o.tx.Leases(store.LeaseFilter{Runners: wanted})
	o.readLeases(below)
	return o.below(err)
}

func (o *overlay) readLeases(below []*store.Lease) {
	for _, l := range below {
		o.leases.read(l.ID, l)
	}
}

func (o *overlay) PutLease(l *store.Lease) error {
	l = copyOf(l)
	l.Job.Recipe = nil // the lease itself holds the recipe
	// An unknown lease is taken for a new one: leases that are changed have been read.
	old := o.leases.look(l.ID)
	o.noteRenewal(old, l)
	switch {
	case !old.present:
		o.leased.add(l.Job.Campaign, 1)
	case old.value.Job.Campaign != l.Job.Campaign:
		o.leased.add(old.value.Job.Campaign, -1)
		o.leased.add(l.Job.Campaign, 1)
	}
	o.leases.put(l.ID, l)
	return nil
}

// noteRenewal notes whether a lease that is put differs from the one below in its deadline only, as most do.
func (o *overlay) noteRenewal(old row[*store.Lease], l *store.Lease) {
	delete(o.renewed, l.ID)
	if !old.present || !old.below || old.changed {
		return
	}
	before, after := *old.value, *l
	before.Deadline, before.Job.Recipe = after.Deadline, nil
	if before == after {
		o.renewed[l.ID] = true
	}
}

func (o *overlay) DeleteLease(id string) error {
	l, err := lookUp(o, o.leases, "lease", id, o.tx.Lease)
	if err != nil {
		return o.broken // a missing lease is none to delete
	}
	o.leased.add(l.Job.Campaign, -1)
	o.leases.remove(id)
	return nil
}

// ExtendLeases changes the leases in the store below, which are too many to be read, and those that are known.
func (o *overlay) ExtendLeases(deadline time.Time) error {
	if err := o.flush(); err != nil {
		return err
	}
	if err := o.written(func() error { return o.tx.ExtendLeases(deadline) }); err != nil {
		return err
	}
	for _, l := range o.knownLeases(store.LeaseFilter{ExpiredAt: deadline}) {
		l.Deadline = deadline
		o.leases.replace(l.ID, row[*store.Lease]{value: l, present: true, below: true}, true)
	}
	return nil
}

func (o *overlay) Lease(id string) (*store.Lease, error) {
	l, err := lookUp(o, o.leases, "lease", id, o.tx.Lease)
	if err != nil {
		return nil, err
	}
	return copyOf(l), nil
}

func (o *overlay) CountLeases(campaign string) (uint64, error) {
	n, err := o.leased.of(campaign)
	return n, o.below(err)
}

func (o *overlay) Leases(f store.LeaseFilter) ([]*store.Lease, error) {
	switch {
	case f.Limit > 0:
		return o.earliest(f)
	case f.Runner != "":
		if err := o.preload([]string{f.Runner}); err != nil {
			return nil, err
		}
	default:
		below, err := o.tx.Leases(f)
		if err != nil {
			return nil, o.below(err)
		}
		o.readLeases(below)
	}
	out := o.knownLeases(f)
	slices.SortFunc(out, func(a, b *store.Lease) int {
		return cmp.Or(a.Granted.Compare(b.Granted), cmp.Compare(a.ID, b.ID))
	})
	return out, nil
}

// knownLeases returns copies of those that match among the leases that the transaction knows.
func (o *overlay) knownLeases(f store.LeaseFilter) (out []*store.Lease) {
	o.leaseIndex.visit(f, func(id string) bool {
		if l := o.leases.look(id).value; f.Matches(l) {
			out = append(out, copyOf(l))
		}
		return true
	})
	return out
}

// earliest is Leases for a filter with a limit: those with the earliest deadlines. The transaction may have changed what it reads
// below; then it reads further.
func (o *overlay) earliest(f store.LeaseFilter) ([]*store.Lease, error) {
	for further := f; ; further.Limit *= 2 {
		below, err := o.tx.Leases(further)
		if err != nil {
			return nil, o.below(err)
		}
		o.readLeases(below)
		known := f.Earliest(o.knownLeases(f))
		if n := len(known); len(below) < further.Limit ||
			n == f.Limit && deadlineOf(known[n-1]).compare(deadlineOf(below[len(below)-1])) <= 0 {
			return known, nil
		}
	}
}
