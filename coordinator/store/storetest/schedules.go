package storetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
)

func schedules(t *testing.T, s store.Store) {
	schedule := func(id string, every time.Duration, next time.Time) *misstepv1.Schedule {
		out := &misstepv1.Schedule{Id: id, Campaign: &misstepv1.Campaign{Name: id}, Every: durationpb.New(every)}
		if !next.IsZero() {
			out.Next = timestamppb.New(next)
		}
		return out
	}
	update(t, s, func(tx store.Tx) {
		for _, one := range []*misstepv1.Schedule{
			schedule("S3", time.Hour, t0), schedule("S1", time.Hour, t0.Add(time.Nanosecond)),
			schedule("S2", time.Hour, time.Time{}),
			schedule("S4", time.Hour, t0.Add(2*time.Hour)), schedule("S5", time.Hour, t0.Add(2*time.Hour+1)),
			schedule("S6", time.Hour, t0.Add(-1)), schedule("S6", time.Hour, t0.Add(time.Minute)), schedule("S7", time.Hour, t0),
		} {
			require.NoError(t, tx.PutSchedule(one))
		}
		require.NoError(t, tx.DeleteSchedule("S7"))
		require.NoError(t, tx.DeleteSchedule("S8"))
	})
	view(t, s, func(tx store.Tx) {
		ids := func(all []*misstepv1.Schedule, err error) (ids []string) {
			require.NoError(t, err)
			for _, one := range all {
				ids = append(ids, one.GetId())
			}
			return ids
		}
		require.Equal(t, []string{"S1", "S2", "S3", "S4", "S5", "S6"}, ids(tx.Schedules()))
		require.Equal(t, []string{"S3", "S5"}, ids(tx.DueSchedules(t0)))
		got, err := tx.Schedule("S4")
		require.NoError(t, err)
		equal(t, schedule("S4", time.Hour, t0.Add(2*time.Hour)), got)
		_, err = tx.Schedule("S7")
		require.ErrorIs(t, err, store.ErrNotFound)
		require.Error(t, tx.PutSchedule(got), "a view does not write")
	})
}

func retests(t *testing.T, s store.Store) {
	retest := func(id, finding string, started time.Time) *misstepv1.Retest {
		return &misstepv1.Retest{Id: id, FindingId: finding, Started: timestamppb.New(started), Planned: 4}
	}
	update(t, s, func(tx store.Tx) {
		for _, r := range []*misstepv1.Retest{
			retest("RT1/1", "F1", t0), retest("RT1/0", "F2", t0), retest("RT2/0", "F1", t0.Add(time.Hour)),
			retest("RT3/0", "F3", t0), retest("RT3/0", "F3", t0.Add(-time.Hour)),
		} {
			require.NoError(t, tx.PutRetest(r))
		}
	})
	view(t, s, func(tx store.Tx) {
		ids := func(findings ...string) (ids []string) {
			all, err := tx.Retests(findings...)
			require.NoError(t, err)
			for _, r := range all {
				ids = append(ids, r.GetId())
			}
			return ids
		}
		require.Equal(t, []string{"RT2/0", "RT1/0", "RT1/1", "RT3/0"}, ids())
		require.Equal(t, []string{"RT2/0", "RT1/1"}, ids("F1"))
		require.Equal(t, []string{"RT1/0", "RT3/0"}, ids("F2", "F3"))
		require.Empty(t, ids("F9"))
		got, err := tx.Retest("RT1/1")
		require.NoError(t, err)
		equal(t, retest("RT1/1", "F1", t0), got)
		_, err = tx.Retest("RT1/2")
		require.ErrorIs(t, err, store.ErrNotFound)
	})
}
