package retention

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"misstep/coordinator/store"
)

// sizesWorker is the name under which the store keeps sizes.
const sizesWorker = "retention-sizes"

// sizes are sums of the evidence of the trials that may age and have not, so that a round reads only those that are new.
type sizes struct {
	// Aged is up to which trial of each campaign all had aged. When it is not the same now, others have aged and the sums are
	// wrong.
	Aged map[string]uint64 `json:"aged"`
	// Summed is the last trial of each campaign in the sums.
	Summed map[string]uint64 `json:"summed"`
	// Hours are bytes by the hour in which a trial ended, in hours since 1970.
	Hours map[int64]int64 `json:"hours"`
}

// loadSizes returns the sums that fit to the position of Age, or those of no trial after it.
func loadSizes(ctx context.Context, st store.Store, done map[string]uint64) (*sizes, error) {
	s := &sizes{}
	err := st.View(ctx, func(tx store.Tx) error {
		data, err := tx.WorkerState(sizesWorker)
		if err != nil || data == nil {
			return err
		}
		return json.Unmarshal(data, s)
	})
	if err != nil {
		return nil, err
	}
	if s.Hours == nil || s.Summed == nil || !maps.Equal(s.Aged, done) {
		return &sizes{Summed: maps.Clone(done), Hours: map[int64]int64{}}, nil
	}
	return s, nil
}

func (s *sizes) store(ctx context.Context, st store.Store, done map[string]uint64) error {
	s.Aged = done
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return st.Update(ctx, func(tx store.Tx) error { return tx.PutWorkerState(sizesWorker, data) })
}

// add adds the evidence of a trial to the sums, or takes it away.
func (s *sizes) add(t *store.Trial, sign int64) {
	hour := t.Ended.Unix() / 3600
	if s.Hours[hour] += sign * sizeOf(t.Outcome); s.Hours[hour] == 0 {
		delete(s.Hours, hour)
	}
}

// update adds the trials that are new.
func (s *sizes) update(ctx context.Context, st store.Store, campaigns []string, now time.Time) error {
	for _, c := range campaigns {
		for after, more := s.Summed[c], true; more; {
			var trials []*store.Trial
			var err error
			if trials, after, more, err = duePage(ctx, st, c, after, now); err != nil {
				return err
			}
			for _, t := range trials {
				s.add(t, 1)
			}
			s.Summed[c] = after
		}
	}
	return nil
}

// over returns the end of the latest hour with which the sum of it and of all later ones exceeds a limit; zero for none.
func (s *sizes) over(limit int64) time.Time {
	var sum int64
	for _, h := range slices.Backward(slices.Sorted(maps.Keys(s.Hours))) {
		if sum += s.Hours[h]; sum > limit {
			return time.Unix((h+1)*3600, 0)
		}
	}
	return time.Time{}
}
