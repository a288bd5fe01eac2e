package storetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
)

func update(t *testing.T, s store.Store, f func(tx store.Tx)) {
	t.Helper()
	require.NoError(t, s.Update(t.Context(), func(tx store.Tx) error { f(tx); return nil }))
}

func view(t *testing.T, s store.Store, f func(tx store.Tx)) {
	t.Helper()
	require.NoError(t, s.View(t.Context(), func(tx store.Tx) error { f(tx); return nil }))
}

func equal(t *testing.T, want, got proto.Message) {
	t.Helper()
	assert.Truef(t, proto.Equal(want, got), "want %v\n got %v", want, got)
}

func campaign(id string, age time.Duration) *store.Campaign {
	return &store.Campaign{
		ID: id, Owner: "owner-" + id, State: misstepv1.CampaignState_CAMPAIGN_STATE_RUNNING, Submitted: t0.Add(-age), Next: 3,
		Turn: 7, OwnerTurn: 8,
		StrategyState: []byte("state-" + id),
		Submission:    &misstepv1.SubmitCampaignRequest{Campaign: &misstepv1.Campaign{Name: "name-" + id, Seed: 1<<64 - 1}},
		Tally:         &misstepv1.CampaignStatus{Outcomes: map[string]uint64{"clean": 2}},
	}
}

func ids[T any, I any](rows []T, id func(T) I) []I {
	out := make([]I, len(rows))
	for i, r := range rows {
		out[i] = id(r)
	}
	return out
}

func lease(id, runner, campaign string, index uint64, deadline time.Time) *store.Lease {
	return &store.Lease{
		ID: id, Runner: runner, Job: store.Job{Campaign: campaign, Index: index, Failures: 1, Lost: 2},
		Recipe: &misstepv1.Recipe{Seed: index, JvmFlags: []string{"-Xint"}}, Granted: t0, Deadline: deadline,
	}
}
