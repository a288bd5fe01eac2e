package hunt

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"misstep/app/reproduction"
	"misstep/app/station"
	misstepv1 "misstep/proto/misstep/v1"
)

// resume returns the id of the unfinished campaign of the same spec in this folder, which gets the budget of the request; without
// an unfinished campaign it submits the spec. An unfinished campaign of another spec is an error: both would take turns unnoticed.
// A seed that has run to its end here before is replaced by the next one that has not, so that a further run explores further. With
// Reproduce, a campaign whose findings were being reproduced when it was interrupted comes first.
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
	asked := request.GetCampaign()
	var running []*misstepv1.CampaignStatus
	ended := map[uint64]*misstepv1.CampaignStatus{} // of this spec, by seed
	for _, s := range list.GetCampaigns() {
		switch {
		case s.GetState() == misstepv1.CampaignState_CAMPAIGN_STATE_RUNNING:
			running = append(running, s)
		case len(differences(s.GetCampaign(), asked, "seed", "budget")) == 0:
			ended[s.GetCampaign().GetSeed()] = s
		}
	}
	seed := asked.GetSeed()
	for ; ended[seed] != nil; seed++ {
		if len(running) == 0 && showsAny(ended[seed], reproducing) {
			h.Say("campaign %s has ended: resuming the reproduction of its findings", describe(ended[seed]))
			return ended[seed].GetId(), nil
		}
	}
	if seed != asked.GetSeed() && len(running) == 0 {
		h.Say("this campaign has run to its end here: now with seed %d", seed)
	}
	file := proto.CloneOf(asked)
	asked.Seed = seed
	if len(running) == 0 {
		response, err := st.SubmitCampaign(ctx, request)
		return response.GetCampaignId(), err
	}
	for _, s := range running {
		if differ := differences(s.GetCampaign(), asked, "budget"); len(differ) > 0 {
			if of := differences(s.GetCampaign(), file, "budget"); len(of) > 0 {
				differ = of // the seed that a user can see
			}
			return "", fmt.Errorf("%s holds the unfinished campaign %s, which differs in %s; resume it with its own file, end it "+
				"with `misstep campaign stop %s --dir %s`, or choose another --dir",
				h.Dir, describe(s), strings.Join(differ, ", "), s.GetId(), h.Dir)
		}
	}
	return running[0].GetId(), h.again(ctx, st, running[0], asked.GetBudget())
}

// again says that an unfinished campaign is resumed, and gives it a budget that differs from its own.
func (h Hunt) again(ctx context.Context, st *station.Station, s *misstepv1.CampaignStatus, budget *misstepv1.Budget) error {
	own := s.GetCampaign().GetBudget()
	changed := budget.GetTrials() != own.GetTrials() || budget.GetTime().AsDuration() != own.GetTime().AsDuration()
	if !changed {
		h.Say("resuming campaign %s: %d trials done, %s", describe(s), station.Finished(s), left(s))
		return nil
	}
	request := &misstepv1.SetBudgetRequest{CampaignId: s.GetId(), Trials: budget.GetTrials()}
	var parts []string
	if budget.GetTrials() > 0 {
		parts = append(parts, fmt.Sprintf("%d trials in all", budget.GetTrials()))
	}
	if limit := budget.GetTime().AsDuration(); limit > 0 {
		request.TimeLeft = durationpb.New(limit)
		parts = append(parts, fmt.Sprintf("%v from now on", limit))
	}
	if _, err := st.SetBudget(ctx, request); err != nil {
		return err
	}
	h.Say("resuming campaign %s: %d trials done; with a new budget: %s", describe(s), station.Finished(s),
		strings.Join(parts, ", "))
	return nil
}

// describe names a campaign in a message.
func describe(s *misstepv1.CampaignStatus) string {
	return fmt.Sprintf("%s (%s, seed %d)", s.GetId(), s.GetCampaign().GetName(), s.GetCampaign().GetSeed())
}

// left is what a running campaign still has of its budget, in words.
func left(s *misstepv1.CampaignStatus) string {
	var parts []string
	if planned := s.GetPlanned(); planned > 0 {
		parts = append(parts, fmt.Sprintf("%d trials", planned-min(planned, station.Finished(s)+s.GetFailed())))
	}
	if limit := s.GetCampaign().GetBudget().GetTime().AsDuration(); limit > 0 {
		ends := s.GetSubmitted().AsTime().Add(limit)
		parts = append(parts, max(0, time.Until(ends)).Round(time.Second).String())
	}
	return strings.Join(parts, " or ") + " left"
}

func showsAny(s *misstepv1.CampaignStatus, findings []string) bool {
	return slices.ContainsFunc(s.GetFindingIds(), func(id string) bool { return slices.Contains(findings, id) })
}
