package coordinator_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"misstep/coordinator/access"
	"misstep/coordinator/store/memory"
	misstepv1 "misstep/proto/misstep/v1"
)

// The backlog has what runs in every project, by what it needs, and counts what is left.
func TestBacklogOfAllProjects(t *testing.T) {
	l := newLab(t, memory.New(), bug(1))
	submit := func(project string, change func(*misstepv1.SubmitCampaignRequest)) string {
		t.Helper()
		s := submission(7)
		change(s)
		r, err := l.server.SubmitCampaign(access.InProject(t.Context(), project), s)
		require.NoError(t, err)
		return r.GetCampaignId()
	}
	backlog := func() map[string]*misstepv1.Backlog {
		t.Helper()
		r, err := l.server.GetBacklog(t.Context(), &misstepv1.GetBacklogRequest{})
		require.NoError(t, err)
		all := map[string]*misstepv1.Backlog{}
		for _, b := range r.GetCampaigns() {
			all[b.GetCampaignId()] = b
		}
		return all
	}
	require.Empty(t, backlog())
	plain := submit("p", func(*misstepv1.SubmitCampaignRequest) {})
	mixed := submit("q", func(s *misstepv1.SubmitCampaignRequest) {
		s.AgentDigest = digest("c")
		s.Campaign.Perturb = []*misstepv1.Perturbation{
			{Strategy: "none"}, {Strategy: "pct", Mechanism: misstepv1.MechanismScheduler},
		}
	})
	machine := submit("default", func(s *misstepv1.SubmitCampaignRequest) { s.Campaign.Executor = "vm" })

	all := backlog()
	require.Len(t, all, 3)
	require.Equal(t, "p", all[plain].GetProject())
	require.Equal(t, map[string]uint64{"": 7}, all[plain].GetLeft())
	require.Equal(t, map[string]uint64{"": 4, "sched_ext": 4}, all[mixed].GetLeft(), "alternatives share, rounded up")
	require.Equal(t, digest("c"), all[mixed].GetAgentDigest())
	require.Equal(t, map[string]uint64{"vm": 7}, all[machine].GetLeft())

	l.work(1, 3)
	require.Equal(t, map[string]uint64{"": 5}, backlog()[plain].GetLeft(), "two have ended, one runs")
	_, err := l.server.StopCampaign(t.Context(), &misstepv1.StopCampaignRequest{CampaignId: machine})
	require.NoError(t, err)
	require.NotContains(t, backlog(), machine)
}
