package queue_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/durationpb"

	"misstep/coordinator/queue"
	"misstep/coordinator/store"
	"misstep/coordinator/store/memory"
	misstepv1 "misstep/proto/misstep/v1"
)

// A runner that renews a lease again and again loses it once no trial of the recipe could last as long.
func TestALeaseIsNotRenewedForEver(t *testing.T) {
	q := queue.New(queue.Policy{LeaseTime: 30 * time.Second}, func() string { return "L" }, nil)
	granted := time.Unix(1_800_000_000, 0)
	l := &store.Lease{
		ID: "L", Runner: "r", Job: store.Job{Campaign: "C"}, Granted: granted, Deadline: granted.Add(30 * time.Second),
		Recipe: &misstepv1.Recipe{Limits: &misstepv1.Limits{Wall: durationpb.New(time.Minute)}},
	}
	now := granted
	for l.Deadline.After(now) {
		now = now.Add(20 * time.Second)
		require.NoError(t, memory.New().Update(t.Context(), func(tx store.Tx) error { return q.Renew(tx, l, now) }))
		require.Less(t, now.Sub(granted), 24*time.Hour, "it is renewed for ever")
	}
	assert.Greater(t, now.Sub(granted), time.Hour, "a trial may fetch a JDK first, and run in a machine that is 60 times as slow")
	assert.Less(t, now.Sub(granted), 3*time.Hour)
}
