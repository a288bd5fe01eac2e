package storetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
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
	update(t, s, func(tx store.Tx) {
		if b, ok := tx.(store.Bulk); ok {
			bulk(t, tx, b)
		}
	})
	view(t, s, func(tx store.Tx) { recounted(t, tx, "in the end") })
}

// bulk writes many jobs, renewals and findings at once, among which are as many as no statement takes.
func bulk(t *testing.T, tx store.Tx, b store.Bulk) {
	t.Helper()
	const n = 700
	var jobs []store.Job
	var indices []uint64
	for i := range uint64(n) {
		jobs = append(jobs, store.Job{
			Campaign: queuedCampaigns[0], Index: 1000 + i, NotBefore: t0.UTC(), Lost: uint32(i % 3), Needs: "vm",
		})
		indices = append(indices, 1000+i)
	}
	require.NoError(t, b.AddJobs(jobs))
	recounted(t, tx, "after many jobs")
	all, err := tx.Jobs(queuedCampaigns[0])
	require.NoError(t, err)
	assert.Equal(t, jobs[n-1], all[len(all)-1])
	require.NoError(t, b.DeleteJobs(queuedCampaigns[0], append(indices[1:], 1<<40)))
	recounted(t, tx, "without most of the jobs")
	all, err = tx.Jobs(queuedCampaigns[0])
	require.NoError(t, err)
	assert.Equal(t, jobs[0], all[len(all)-1])

	held, err := tx.Leases(store.LeaseFilter{Runner: "r"})
	require.NoError(t, err)
	require.NotEmpty(t, held)
	for i, l := range held {
		l.Deadline = t0.UTC().Add(time.Duration(i) * time.Second)
	}
	require.NoError(t, b.RenewLeases(held))
	again, err := tx.Leases(store.LeaseFilter{Runner: "r"})
	require.NoError(t, err)
	require.Len(t, again, len(held))
	for i, l := range held {
		assert.Equal(t, []any{l.ID, l.Job.Index, l.Granted, l.Deadline}, []any{
			again[i].ID, again[i].Job.Index, again[i].Granted, again[i].Deadline,
		})
	}
	recounted(t, tx, "after renewals")
	gone := *held[0]
	gone.ID = "gone"
	require.ErrorIs(t, b.RenewLeases([]*store.Lease{&gone}), store.ErrNotFound)

	var findings []*store.Finding
	for i := range 3 {
		findings = append(findings, &store.Finding{Weight: i, Proto: &misstepv1.Finding{
			Id: fmt.Sprint("Fbulk", i), LastSeen: timestamppb.New(t0), Title: "first",
		}})
	}
	require.NoError(t, b.PutFindings(findings[:2]))
	findings[1].Proto.Title = "second"
	require.NoError(t, b.PutFindings(findings[1:]))
	for i, title := range []string{"first", "second", "first"} {
		f, err := tx.Finding(fmt.Sprint("Fbulk", i))
		require.NoError(t, err)
		assert.Equal(t, title, f.Proto.GetTitle())
		assert.Equal(t, i, f.Weight)
	}
}
