package memory

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
)

func (t *tx) PutSchedule(s *misstepv1.Schedule) error {
	return set(t, t.s.schedules, s.GetId(), proto.CloneOf(s))
}

func (t *tx) DeleteSchedule(id string) error { return unset(t, t.s.schedules, id) }

func (t *tx) Schedule(id string) (*misstepv1.Schedule, error) {
	s, ok := t.s.schedules[id]
	if !ok {
		return nil, fmt.Errorf("schedule %q: %w", id, store.ErrNotFound)
	}
	return proto.CloneOf(s), nil
}

func (t *tx) Schedules() ([]*misstepv1.Schedule, error) {
	out := make([]*misstepv1.Schedule, 0, len(t.s.schedules))
	for _, id := range slices.Sorted(maps.Keys(t.s.schedules)) {
		out = append(out, proto.CloneOf(t.s.schedules[id]))
	}
	return out, nil
}

func (t *tx) DueSchedules(now time.Time) ([]*misstepv1.Schedule, error) {
	all, err := t.Schedules()
	return slices.DeleteFunc(all, func(s *misstepv1.Schedule) bool {
		next := s.GetNext().AsTime()
		return s.GetNext() == nil || next.After(now) && !next.Add(-2*s.GetEvery().AsDuration()).After(now)
	}), err
}

func (t *tx) PutRetest(r *misstepv1.Retest) error {
	return set(t, t.s.retests, r.GetId(), proto.CloneOf(r))
}

func (t *tx) Retest(id string) (*misstepv1.Retest, error) {
	r, ok := t.s.retests[id]
	if !ok {
		return nil, fmt.Errorf("retest %q: %w", id, store.ErrNotFound)
	}
	return proto.CloneOf(r), nil
}

func (t *tx) Retests(findings ...string) ([]*misstepv1.Retest, error) {
	var out []*misstepv1.Retest
	for _, r := range t.s.retests {
		if len(findings) == 0 || slices.Contains(findings, r.GetFindingId()) {
			out = append(out, proto.CloneOf(r))
		}
	}
	slices.SortFunc(out, func(a, b *misstepv1.Retest) int {
		return cmp.Or(b.GetStarted().AsTime().Compare(a.GetStarted().AsTime()), cmp.Compare(a.GetId(), b.GetId()))
	})
	return out, nil
}
