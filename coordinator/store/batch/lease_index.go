package batch

import (
	"cmp"
	"time"

	"github.com/google/btree"

	"misstep/coordinator/store"
)

// leaseIndex finds the leases that a transaction knows, as jobIndex does jobs.
type leaseIndex struct {
	ofRunner, ofOwner, ofCampaign sets
	byDeadline                    *btree.BTreeG[deadline]
}

// sets are sets of ids by what the rows have in common.
type sets map[string]map[string]struct{}

func (s sets) add(of, id string) {
	if s[of] == nil {
		s[of] = map[string]struct{}{}
	}
	s[of][id] = struct{}{}
}

// deadline of a lease.
type deadline struct {
	at time.Time
	id string
}

func (d deadline) compare(to deadline) int {
	return cmp.Or(d.at.Compare(to.at), cmp.Compare(d.id, to.id))
}

func deadlineOf(l *store.Lease) deadline { return deadline{l.Deadline, l.ID} }

func newLeaseIndex() *leaseIndex {
	return &leaseIndex{
		ofRunner: sets{}, ofOwner: sets{}, ofCampaign: sets{},
		byDeadline: btree.NewG(degree, func(a, b deadline) bool { return a.compare(b) < 0 }),
	}
}

func (x *leaseIndex) add(id string, l *store.Lease) {
	x.ofRunner.add(l.Runner, id)
	x.ofOwner.add(store.Owner(l.Runner), id)
	x.ofCampaign.add(l.Job.Campaign, id)
	x.byDeadline.ReplaceOrInsert(deadlineOf(l))
}

func (x *leaseIndex) remove(id string, l *store.Lease) {
	delete(x.ofRunner[l.Runner], id)
	delete(x.ofOwner[store.Owner(l.Runner)], id)
	delete(x.ofCampaign[l.Job.Campaign], id)
	x.byDeadline.Delete(deadlineOf(l))
}

// visit calls f for the ids of leases among which are all that match a filter, those with the earliest deadlines first when only
// they are asked for, until f returns false.
func (x *leaseIndex) visit(f store.LeaseFilter, do func(id string) bool) {
	var in []map[string]struct{}
	switch {
	case f.Runner != "":
		in = append(in, x.ofRunner[f.Runner])
	case len(f.Runners) > 0:
		for _, r := range f.Runners {
			in = append(in, x.ofRunner[r])
		}
	case f.Campaign != "":
		in = append(in, x.ofCampaign[f.Campaign])
	case f.Owner != "":
		in = append(in, x.ofOwner[f.Owner])
	default:
		x.byDeadline.Ascend(func(d deadline) bool {
			return (f.ExpiredAt.IsZero() || !d.at.After(f.ExpiredAt)) && do(d.id)
		})
	}
	for _, set := range in {
		for id := range set {
			if !do(id) {
				return
			}
		}
	}
}
