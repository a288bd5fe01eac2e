package coordinator_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/coordinator"
	"misstep/coordinator/store/memory"
	misstepv1 "misstep/proto/misstep/v1"
)

// A campaign may leave the agent to the runners, as scheduled ones do: a finding's recipe then has the agent that showed it, or
// nobody could make a bundle of it.
func TestAFindingSaysWithWhichAgentItWasFound(t *testing.T) {
	for what, wanted := range map[string]string{"": digest("e"), digest("e"): digest("e")} {
		server := coordinator.New(coordinator.Config{Store: memory.New()})
		request := submission(1)
		request.AgentDigest = what
		_, err := server.SubmitCampaign(t.Context(), request)
		require.NoError(t, err)
		runner := &misstepv1.Runner{Id: "r", Slots: 1, AgentDigest: digest("e")}
		response, err := server.Synchronize(t.Context(), &misstepv1.SynchronizeRequest{Runner: runner, FreeSlots: 1})
		require.NoError(t, err)
		require.Len(t, response.GetDesired(), 1)
		lease := response.GetDesired()[0]
		require.Equal(t, what, lease.GetRecipe().GetAgentDigest())
		_, err = server.Synchronize(t.Context(), &misstepv1.SynchronizeRequest{
			Runner: runner, Held: []*misstepv1.HeldLease{held(lease.GetId(), "clinit", "")},
		})
		require.NoError(t, err)
		found, err := server.GetFinding(t.Context(), &misstepv1.GetFindingRequest{FindingId: "F598b0c04d78c"})
		require.NoError(t, err)
		assert.Equal(t, wanted, found.GetFinding().GetExampleRecipe().GetAgentDigest())
	}
}
