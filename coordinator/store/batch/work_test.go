package batch_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"misstep/coordinator/store"
	"misstep/coordinator/store/batch"
)

// storm is a fleet whose leases expire while its runners call: all in one transaction, as the queue does it.
type storm struct {
	// lost leases become jobs, of which every third needs what no runner has, and every fourth is not due for long.
	lost int
	// calls each lease up to slots jobs; every fifth call fails at its end.
	calls, slots int
	// waiting jobs are in the store before.
	waiting int
}

func drawStorm(t *rapid.T) storm {
	return storm{
		lost: rapid.IntRange(0, 1500).Draw(t, "lost"), calls: rapid.IntRange(0, 50).Draw(t, "calls"),
		slots: rapid.IntRange(1, 8).Draw(t, "slots"), waiting: rapid.IntRange(0, 300).Draw(t, "waiting"),
	}
}

// before is what the store holds.
func (s storm) before(tx store.Tx) error {
	err := tx.PutCampaign(&store.Campaign{ID: "C", Submitted: start})
	for i := range s.lost {
		err = errors.Join(err, tx.PutLease(&store.Lease{
			ID: fmt.Sprint("lost", i), Runner: fmt.Sprint("gone", i/8), Job: store.Job{Campaign: "C", Index: uint64(i)},
			Granted: start, Deadline: start.Add(time.Second),
		}))
	}
	for i := range s.waiting {
		err = errors.Join(err, tx.PutJob(store.Job{Campaign: "C", Index: uint64(10_000 + i), NotBefore: start}))
	}
	return err
}

// work counts what updates read, put and delete.
type work struct{ n int }

func (w *work) expire(tx store.Tx) error {
	lost, err := tx.Leases(store.LeaseFilter{ExpiredAt: start.Add(time.Second)})
	w.n += 1 + len(lost)
	for i, l := range lost {
		j := l.Job
		j.NotBefore = start
		if i%3 == 0 {
			j.Needs = "vm"
		}
		if i%4 == 0 {
			j.NotBefore = start.Add(time.Hour)
		}
		err = errors.Join(err, tx.DeleteLease(l.ID), tx.PutJob(j))
		w.n += 2
	}
	return err
}

// call is what a runner's call does, which had other leases before.
func (w *work) call(tx store.Tx, runner string, slots int) error {
	own, err := tx.Leases(store.LeaseFilter{Runner: runner})
	w.n += 1 + len(own)
	for i := range slots {
		jobs, failed := tx.ReadyJobs(store.ReadyFilter{Campaign: "C", Capabilities: []string{"sched_ext"}, At: start, Limit: 1})
		w.n++
		err = errors.Join(err, failed)
		for _, j := range jobs {
			err = errors.Join(err, tx.DeleteJob("C", j.Index), tx.PutLease(&store.Lease{
				ID: fmt.Sprint(runner, " ", i), Runner: runner, Job: j, Granted: start, Deadline: start.Add(time.Minute),
			}))
			w.n += 3
		}
	}
	late, failed := tx.Leases(store.LeaseFilter{ExpiredAt: start})
	w.n += 1 + len(late)
	return errors.Join(err, failed)
}

// A transaction looks at a bounded number of rows for each one that it reads or changes, however many others it has changed.
func TestWorkIsBoundedByWhatChanges(t *testing.T) {
	boom := errors.New("boom")
	rapid.Check(t, func(rt *rapid.T) {
		s := drawStorm(rt)
		g := newGated()
		require.NoError(t, g.Store.Update(t.Context(), s.before))
		var w work
		looks := 0
		updates := []func(store.Tx) error{func(tx store.Tx) error { return w.expire(tx) }}
		for i := range s.calls {
			updates = append(updates, func(tx store.Tx) error {
				if err := w.call(tx, fmt.Sprint("runner", i), s.slots); err != nil {
					return err
				}
				looks = batch.Looks(tx)
				if i%5 == 4 {
					return boom
				}
				return nil
			})
		}
		for i, err := range g.together(t, updates...) {
			assert.Equal(t, i > 0 && i%5 == 0, errors.Is(err, boom), err)
		}
		const most = 4 // for each row that is read or changed; the store's own jobs are read once
		assert.LessOrEqual(rt, looks, most*w.n+s.waiting, "%+v", s)
	})
}
