package view

import (
	"cmp"
	"slices"
	"time"

	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
)

// Runners lists the runners that called during the given period before now, by id, with the number of leases that each holds.
func (r Reader) Runners(tx store.Tx, within time.Duration, now time.Time) ([]*misstepv1.RunnerStatus, error) {
	leases, err := tx.Leases(store.LeaseFilter{})
	if err != nil {
		return nil, err
	}
	running := map[string]uint64{}
	for _, l := range leases {
		running[l.Runner]++
	}
	all := slices.DeleteFunc(r.Fleet.Runners(), func(s *misstepv1.RunnerStatus) bool {
		return now.Sub(s.GetLastCall().AsTime()) > within
	})
	for _, s := range all {
		s.Running = running[store.Holder(s.GetOwner(), s.GetRunner().GetId())]
	}
	slices.SortFunc(all, func(a, b *misstepv1.RunnerStatus) int {
		return cmp.Or(cmp.Compare(a.GetRunner().GetId(), b.GetRunner().GetId()), cmp.Compare(a.GetOwner(), b.GetOwner()))
	})
	return all, nil
}
