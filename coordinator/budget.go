package coordinator

import (
	"context"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"misstep/coordinator/campaign"
	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
)

// SetBudget implements the AdminService. A campaign's time counts from its submission, so the time that has passed is added.
func (s *Server) SetBudget(ctx context.Context, req *misstepv1.SetBudgetRequest) (*misstepv1.SetBudgetResponse, error) {
	budget := &misstepv1.Budget{Trials: req.GetTrials(), Time: req.GetTimeLeft()}
	if err := violated(campaign.ValidateBudget(budget)); err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	err := s.update(ctx, func(tx store.Tx, now time.Time) error {
		c, err := ownCampaign(ctx, tx, req.GetCampaignId())
		if err != nil {
			return err
		}
		if c.State != misstepv1.CampaignState_CAMPAIGN_STATE_RUNNING {
			return status.Errorf(codes.FailedPrecondition, "campaign %s has ended: it cannot get another budget", c.ID)
		}
		if left := req.GetTimeLeft().AsDuration(); left > 0 {
			budget.Time = durationpb.New(now.Sub(c.Submitted) + left)
		}
		c.Submission = proto.CloneOf(c.Submission)
		c.Submission.Campaign.Budget = budget
		return tx.PutCampaign(c)
	})
	if err != nil {
		return nil, err
	}
	return &misstepv1.SetBudgetResponse{}, nil
}
