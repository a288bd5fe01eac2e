package view

import (
	"time"

	"misstep/coordinator/projects"
	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
)

// WithoutEnd stands for the trials of a campaign that only time bounds: more than any fleet could run.
const WithoutEnd = 1 << 40

// Backlog lists what the campaigns that run by now have left, newest first, reproductions among them. The transaction is in all
// projects.
func (r Reader) Backlog(tx store.Tx, now time.Time) (list []*misstepv1.Backlog, err error) {
	all, err := tx.Campaigns(true)
	if err != nil {
		return nil, err
	}
	for _, c := range all {
		st, err := r.Campaign(tx, c, now)
		if err != nil {
			return nil, err
		}
		if st.GetState() != misstepv1.CampaignState_CAMPAIGN_STATE_RUNNING {
			continue
		}
		project, id := projects.Split(c.ID)
		list = append(list, &misstepv1.Backlog{
			CampaignId: id, Name: st.GetCampaign().GetName(), Project: project, AgentDigest: st.GetAgentDigest(), Left: left(c, st),
		})
	}
	return list, nil
}

// left counts the trials of a campaign that wait or run, by what they need. Alternatives of perturbation share them evenly.
func left(c *store.Campaign, st *misstepv1.CampaignStatus) map[string]uint64 {
	n := uint64(WithoutEnd)
	switch planned := st.GetPlanned(); {
	case c.Probes: // they are queued as they become known
		n = st.GetQueued() + st.GetRunning()
	case planned > 0:
		done := st.GetFailed() + st.GetCancelled()
		for _, of := range st.GetOutcomes() {
			done += of
		}
		n = planned - min(planned, done)
	}
	perturb := st.GetCampaign().GetPerturb()
	if len(perturb) == 0 {
		perturb = []*misstepv1.Perturbation{nil}
	}
	needs := map[string]uint64{}
	for _, p := range perturb {
		share := (n + uint64(len(perturb)) - 1) / uint64(len(perturb))
		needs[string(recipe.NeededCapability(st.GetCampaign().GetExecutor(), p))] += share
	}
	return needs
}
