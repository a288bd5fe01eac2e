package coordinator_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/coordinator"
	"misstep/coordinator/access"
	"misstep/coordinator/store/memory"
	misstepv1 "misstep/proto/misstep/v1"
)

// People share the runners of a fleet whatever projects they work in and however many campaigns they have; each person's campaigns
// share by priority and share.
func TestPeopleShareTheRunners(t *testing.T) {
	s := coordinator.New(coordinator.Config{Store: memory.New()})
	submit := func(name, project string, priority int32, share uint32) string {
		in := access.With(access.InProject(t.Context(), project), &access.Caller{
			Name: name, Kind: access.Person, Grants: []access.Grant{{Role: misstepv1.Role_ROLE_HUNTER}},
		})
		request := submission(1000)
		request.Campaign.Priority, request.Campaign.Share = priority, share
		submitted, err := s.SubmitCampaign(in, request)
		require.NoError(t, err)
		return submitted.GetCampaignId()
	}
	annas := submit("anna", "p", 0, 1)
	bens := []string{submit("ben", "q", 0, 3), submit("ben", "default", 0, 0), submit("ben", "q", -1, 8)}
	running := map[string]int{}
	sync := func(ctx context.Context, id string, slots uint32) {
		got, err := s.Synchronize(ctx, &misstepv1.SynchronizeRequest{
			Runner: &misstepv1.Runner{Id: id, Slots: slots}, FreeSlots: slots,
		})
		require.NoError(t, err)
		for _, l := range got.GetDesired() {
			running[l.GetCampaignId()]++
		}
	}
	sync(t.Context(), "a", 7)
	sync(t.Context(), "b", 13)
	assert.Equal(t, map[string]int{annas: 10, bens[0]: 6, bens[1]: 2, bens[2]: 2}, running)
	late := submit("cleo", "p", 3, 1000)
	sync(t.Context(), "c", 10)
	assert.Equal(t, 10, running[late], "who has least comes first, whatever priority others gave theirs")
}
