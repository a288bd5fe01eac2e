package memory

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"misstep/coordinator/store"
)

// sets are sets of keys by what the rows have in common.
type sets[K comparable] map[string]map[K]bool

func (s sets[K]) add(of string, k K) {
	if s[of] == nil {
		s[of] = map[K]bool{}
	}
	s[of][k] = true
}

func (s sets[K]) remove(of string, k K) {
	if delete(s[of], k); len(s[of]) == 0 {
		delete(s, of)
	}
}

// member makes k a member of a set, or makes it none, and journals how to undo it.
func member[K comparable](t *tx, s sets[K], of string, k K, is bool) {
	was := s[of][k]
	if was == is {
		return
	}
	change, undo := s.add, s.remove
	if was {
		change, undo = s.remove, s.add
	}
	change(of, k)
	t.undo = append(t.undo, func() { undo(of, k) })
}

func (t *tx) PutJob(j store.Job) error {
	j.NotBefore, j.Recipe = utc(j.NotBefore), proto.CloneOf(j.Recipe)
	if err := set(t, t.s.jobs, trialKey{j.Campaign, j.Index}, j); err != nil {
		return err
	}
	member(t, t.s.waiting, j.Campaign, j.Index, true)
	return nil
}

func (t *tx) DeleteJob(campaign string, index uint64) error {
	if err := unset(t, t.s.jobs, trialKey{campaign, index}); err != nil {
		return err
	}
	member(t, t.s.waiting, campaign, index, false)
	return nil
}

func (t *tx) Jobs(campaign string) ([]store.Job, error) {
	return t.jobs(campaign, func(store.Job) bool { return true }), nil
}

func (t *tx) ReadyJobs(f store.ReadyFilter) ([]store.Job, error) {
	all := t.jobs(f.Campaign, f.Matches)
	return all[:min(len(all), f.Limit)], nil
}

func (t *tx) jobs(campaign string, which func(store.Job) bool) []store.Job {
	var out []store.Job
	for _, index := range slices.Sorted(maps.Keys(t.s.waiting[campaign])) {
		if j := t.s.jobs[trialKey{campaign, index}]; which(j) {
			j.Recipe = proto.CloneOf(j.Recipe)
			out = append(out, j)
		}
	}
	return out
}

func (t *tx) CountJobs(campaign string) (uint64, error) {
	return uint64(len(t.s.waiting[campaign])), nil
}

func cloneLease(l *store.Lease) *store.Lease {
	out := *l
	out.Recipe, out.Job.Recipe = proto.CloneOf(l.Recipe), nil // the lease itself holds the recipe
	out.Job.NotBefore, out.Granted, out.Deadline = utc(l.Job.NotBefore), utc(l.Granted), utc(l.Deadline)
	return &out
}

func (t *tx) PutLease(l *store.Lease) error {
	key := trialKey{l.Job.Campaign, l.Job.Index}
	if holder, ok := t.s.leaseOf[key]; ok && holder != l.ID {
		return fmt.Errorf("lease %s for trial %d of campaign %s, which %s holds: %w", l.ID, l.Job.Index, l.Job.Campaign, holder,
			store.ErrExists)
	}
	if err := t.DeleteLease(l.ID); err != nil {
		return err
	}
	if err := set(t, t.s.leaseOf, key, l.ID); err != nil {
		return err
	}
	member(t, t.s.ofRunner, l.Runner, l.ID, true)
	member(t, t.s.ofCampaign, l.Job.Campaign, l.ID, true)
	return set(t, t.s.leases, l.ID, cloneLease(l))
}

func (t *tx) DeleteLease(id string) error {
	l, ok := t.s.leases[id]
	if !ok || !t.writable {
		return unset(t, t.s.leases, id)
	}
	member(t, t.s.ofRunner, l.Runner, id, false)
	member(t, t.s.ofCampaign, l.Job.Campaign, id, false)
	return cmp.Or(unset(t, t.s.leaseOf, trialKey{l.Job.Campaign, l.Job.Index}), unset(t, t.s.leases, id))
}

func (t *tx) ExtendLeases(deadline time.Time) error {
	for _, l := range t.s.leases {
		if !l.Deadline.Before(deadline) {
			continue
		}
		later := *l
		later.Deadline = utc(deadline)
		if err := set(t, t.s.leases, l.ID, &later); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) Lease(id string) (*store.Lease, error) {
	l, ok := t.s.leases[id]
	if !ok {
		return nil, fmt.Errorf("lease %q: %w", id, store.ErrNotFound)
	}
	return cloneLease(l), nil
}

func (t *tx) Leases(f store.LeaseFilter) ([]*store.Lease, error) {
	var out []*store.Lease
	add := func(l *store.Lease) {
		if f.Matches(l) {
			out = append(out, cloneLease(l))
		}
	}
	switch {
	case f.Runner != "" || len(f.Runners) > 0:
		runners := f.Runners
		if len(runners) == 0 {
			runners = []string{f.Runner}
		}
		f.Runners = nil // all of these match
		for _, r := range runners {
			for id := range t.s.ofRunner[r] {
				add(t.s.leases[id])
			}
		}
	case f.Campaign != "":
		for id := range t.s.ofCampaign[f.Campaign] {
			add(t.s.leases[id])
		}
	default:
		for _, l := range t.s.leases {
			add(l)
		}
	}
	if f.Limit > 0 {
		return f.Earliest(out), nil
	}
	slices.SortFunc(out, func(a, b *store.Lease) int {
		return cmp.Or(a.Granted.Compare(b.Granted), cmp.Compare(a.ID, b.ID))
	})
	return out, nil
}

func (t *tx) CountLeases(campaign string) (uint64, error) {
	return uint64(len(t.s.ofCampaign[campaign])), nil
}
