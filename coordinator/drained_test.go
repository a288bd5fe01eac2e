package coordinator_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"misstep/coordinator"
	"misstep/coordinator/store/memory"
	misstepv1 "misstep/proto/misstep/v1"
)

// A runner that is drained keeps what it holds, gets nothing new and is asked to exit, by whichever coordinator; others are not.
func TestDrainRunner(t *testing.T) {
	l := newLab(t, memory.New(), bug(0.7))
	_, err := l.server.SubmitCampaign(l.ctx(t), submission(1000))
	require.NoError(t, err)
	held := map[string][]*misstepv1.HeldLease{}
	call := func(id string) *misstepv1.SynchronizeResponse {
		r, err := l.server.Synchronize(l.ctx(t), &misstepv1.SynchronizeRequest{
			Runner: &misstepv1.Runner{Id: id, Slots: 9}, FreeSlots: 1, Held: held[id],
		})
		require.NoError(t, err)
		held[id] = nil
		for _, lease := range r.GetDesired() {
			held[id] = append(held[id], &misstepv1.HeldLease{
				LeaseId: lease.GetId(), State: &misstepv1.HeldLease_Running{Running: &misstepv1.Progress{}},
			})
		}
		return r
	}
	drain := func(id string, undo bool) error {
		_, err := l.server.DrainRunner(l.ctx(t), &misstepv1.DrainRunnerRequest{RunnerId: id, Undo: undo})
		return err
	}
	call("r1")
	call("r10")
	require.Equal(t, codes.NotFound, status.Code(drain("r2", false)))
	require.Equal(t, codes.InvalidArgument, status.Code(drain("r", false)), "two begin with it")
	require.NoError(t, drain("r1", false), "its whole id")
	list, err := l.server.ListRunners(l.ctx(t), &misstepv1.ListRunnersRequest{})
	require.NoError(t, err)
	assert.NotNil(t, list.GetRunners()[0].GetDraining().GetAt())
	assert.Nil(t, list.GetRunners()[1].GetDraining())

	r := call("r1")
	assert.True(t, r.GetDrain())
	assert.Len(t, r.GetDesired(), 1, "what it holds")
	r = call("r10")
	assert.False(t, r.GetDrain())
	assert.Len(t, r.GetDesired(), 2)

	l.server = coordinator.New(coordinator.Config{Store: l.store})
	assert.True(t, call("r1").GetDrain(), "after a restart")
	require.NoError(t, drain("r1", true))
	r = call("r1")
	assert.False(t, r.GetDrain())
	assert.Len(t, r.GetDesired(), 2)
}
