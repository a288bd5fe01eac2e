package batch

import (
	"cmp"
	"slices"

	"misstep/coordinator/store"
)

// preload reads the leases of runners at once.
func (o *overlay) preload(runners []string) error {
	var wanted []string
	for _, r := range runners {
		if _, known := o.ofRunner[r]; !known && r != "" {
			o.ofRunner[r] = nil
			wanted = append(wanted, r)
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	below, err := o.tx.Leases(store.LeaseFilter{Runners: wanted})
	for _, l := range below {
		o.leases.read(l.ID, l)
		o.ofRunner[l.Runner] = append(o.ofRunner[l.Runner], l.ID)
	}
	for _, id := range o.leases.changed {
		o.noteRunner(id, o.leases.rows[id].value)
	}
	return o.below(err)
}

func (o *overlay) PutLease(l *store.Lease) error {
	l = copyOf(l)
	l.Job.Recipe = nil // the lease itself holds the recipe
	// An unknown lease is taken for a new one: leases that are changed have been read.
	switch old := o.leases.rows[l.ID]; {
	case !old.present:
		o.leased.add(l.Job.Campaign, 1)
	case old.value.Job.Campaign != l.Job.Campaign:
		o.leased.add(old.value.Job.Campaign, -1)
		o.leased.add(l.Job.Campaign, 1)
	}
	o.leases.put(l.ID, l)
	o.noteRunner(l.ID, l)
	return nil
}

// noteRunner adds a lease to those of its runner, if they are known.
func (o *overlay) noteRunner(id string, l *store.Lease) {
	if l == nil {
		return
	}
	if ids, known := o.ofRunner[l.Runner]; known && !slices.Contains(ids, id) {
		o.ofRunner[l.Runner] = append(ids, id)
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
	var candidates []string
	if f.Runner != "" && len(f.Runners) == 0 && f.Campaign == "" && f.ExpiredAt.IsZero() {
		if err := o.preload([]string{f.Runner}); err != nil {
			return nil, err
		}
		candidates = o.ofRunner[f.Runner]
	} else {
		below, err := o.tx.Leases(f)
		if err != nil {
			return nil, o.below(err)
		}
		for _, l := range below {
			o.leases.read(l.ID, l)
			candidates = append(candidates, l.ID)
		}
		candidates = append(candidates, o.leases.changed...)
		slices.Sort(candidates)
		candidates = slices.Compact(candidates)
	}
	var out []*store.Lease
	for _, id := range candidates {
		if r := o.leases.rows[id]; r.present && f.Matches(r.value) {
			out = append(out, copyOf(r.value))
		}
	}
	slices.SortFunc(out, func(a, b *store.Lease) int {
		return cmp.Or(a.Granted.Compare(b.Granted), cmp.Compare(a.ID, b.ID))
	})
	return out, nil
}
