package storetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/coordinator/store"
)

var queuedCampaigns = []string{"C1", "C2", "R1"}

// recounted asserts that the numbers that a transaction gives of jobs and leases are those of the rows that it lists.
func recounted(t *testing.T, tx store.Tx, when string) {
	t.Helper()
	for _, c := range queuedCampaigns {
		jobs, err := tx.Jobs(c)
		require.NoError(t, err)
		leases, err := tx.Leases(store.LeaseFilter{Campaign: c})
		require.NoError(t, err)
		n, err := tx.CountJobs(c)
		require.NoError(t, err)
		assert.EqualValues(t, len(jobs), n, "jobs of %s %s", c, when)
		n, err = tx.CountLeases(c)
		require.NoError(t, err)
		assert.EqualValues(t, len(leases), n, "leases of %s %s", c, when)
	}
}

// queued makes jobs and leases come and go: those that are put again, that move to another trial, that are deleted twice, that a
// failed update puts. A job or lease is put after a look, as the queue does.
func queued(t *testing.T, s store.Store) {
	random := rand.New(rand.NewPCG(1, 2))
	boom := errors.New("boom")
	step := func(tx store.Tx) {
		c, index := queuedCampaigns[random.IntN(len(queuedCampaigns))], random.Uint64N(6)
		id := fmt.Sprint("L", random.IntN(12))
		_, err := tx.Jobs(c)
		require.NoError(t, err)
		_, err = tx.Lease(id)
		require.True(t, err == nil || errors.Is(err, store.ErrNotFound), err)
		switch random.IntN(6) {
		case 0, 1:
			require.NoError(t, tx.PutJob(store.Job{Campaign: c, Index: index}))
		case 2:
			require.NoError(t, tx.DeleteJob(c, index))
		case 3, 4:
			held, err := tx.Leases(store.LeaseFilter{Campaign: c})
			require.NoError(t, err)
			for _, l := range held {
				if l.Job.Index == index {
					id = l.ID // its trial stays its own
				}
			}
			require.NoError(t, tx.PutLease(lease(id, fmt.Sprint("r", random.IntN(3)), c, index, t0.Add(time.Minute))))
		case 5:
			require.NoError(t, tx.DeleteLease(id))
		}
	}
	for i := range 40 {
		fails := i%5 == 4
		err := s.Update(t.Context(), func(tx store.Tx) error {
			for range 1 + random.IntN(8) {
				step(tx)
			}
			recounted(t, tx, fmt.Sprint("inside of update ", i))
			if fails {
				return boom
			}
			return nil
		})
		require.Equal(t, fails, errors.Is(err, boom), err)
		view(t, s, func(tx store.Tx) { recounted(t, tx, fmt.Sprint("after update ", i)) })
	}
	update(t, s, func(tx store.Tx) {
		b, ok := tx.(store.Bulk)
		if !ok {
			return
		}
		var many []*store.Lease
		var ids []string
		for i := range uint64(300) {
			many = append(many, lease(fmt.Sprint("M", i), "r", queuedCampaigns[i%3], 100+i, t0))
			ids = append(ids, many[i].ID)
		}
		require.NoError(t, b.AddLeases(many))
		recounted(t, tx, "after many leases")
		require.NoError(t, b.DeleteLeases(append(ids[:250], "none")))
		recounted(t, tx, "without most of them")
	})
	view(t, s, func(tx store.Tx) { recounted(t, tx, "in the end") })
}
