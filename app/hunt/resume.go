package hunt

import (
	"context"
	"slices"

	"google.golang.org/protobuf/proto"

	"misstep/app/reproduction"
	"misstep/app/station"
	misstepv1 "misstep/proto/misstep/v1"
)

// resume returns the id of the unfinished campaign of the same spec in this folder; without one it submits the spec. A spec that
// has run to its end here before gets a fresh seed, so that a further run explores further. With Reproduce, a campaign whose
// findings were being reproduced when it was interrupted comes first.
func (h Hunt) resume(ctx context.Context, st *station.Station, request *misstepv1.SubmitCampaignRequest) (string, error) {
	list, err := st.ListCampaigns(ctx, &misstepv1.ListCampaignsRequest{})
	if err != nil {
		return "", err
	}
	var reproducing []string
	if h.Reproduce {
		if reproducing, err = reproduction.Unfinished(ctx, st, h.Limits.CleanTries); err != nil {
			return "", err
		}
	}
	seed := request.GetCampaign().GetSeed()
	var earlier uint64
	for _, s := range list.GetCampaigns() {
		// Same spec but for the seed and the budget, which --for may set anew.
		same := proto.CloneOf(request.GetCampaign())
		same.Seed, same.Budget = s.GetCampaign().GetSeed(), s.GetCampaign().GetBudget()
		if !proto.Equal(same, s.GetCampaign()) {
			continue
		}
		if s.GetState() == misstepv1.CampaignState_CAMPAIGN_STATE_RUNNING {
			h.Say("resuming campaign %s: %d trials done", s.GetId(), station.Finished(s))
			return s.GetId(), nil
		}
		if slices.ContainsFunc(s.GetFindingIds(), func(id string) bool { return slices.Contains(reproducing, id) }) {
			h.Say("campaign %s has ended: resuming the reproduction of its findings", s.GetId())
			return s.GetId(), nil
		}
		earlier++
	}
	request.Campaign.Seed = seed + earlier
	if earlier > 0 {
		h.Say("this campaign has run to its end here %d times: now with seed %d", earlier, request.GetCampaign().GetSeed())
	}
	response, err := st.SubmitCampaign(ctx, request)
	if err != nil {
		return "", err
	}
	return response.GetCampaignId(), nil
}
