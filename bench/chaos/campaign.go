package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"misstep/app/station"
	misstepv1 "misstep/proto/misstep/v1"
)

// repeat calls f until it succeeds or the time is over.
func repeat(ctx context.Context, within time.Duration, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	for {
		call, end := context.WithTimeout(ctx, 5*time.Second)
		err := f(call)
		end()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// submit submits a campaign to a store that has none yet: an answer may be lost, so whether there is one decides.
func submit(ctx context.Context, st *station.Station, request *misstepv1.SubmitCampaignRequest) (id string, err error) {
	err = repeat(ctx, 30*time.Second, func(ctx context.Context) error {
		all, err := st.ListCampaigns(ctx, &misstepv1.ListCampaignsRequest{})
		if err != nil {
			return err
		}
		if len(all.GetCampaigns()) > 0 {
			id = all.GetCampaigns()[0].GetId()
			return nil
		}
		response, err := st.SubmitCampaign(ctx, request)
		id = response.GetCampaignId()
		return err
	})
	return id, err
}

// status returns the state of a campaign.
func status(ctx context.Context, st *station.Station, id string) (s *misstepv1.CampaignStatus, err error) {
	err = repeat(ctx, time.Minute, func(ctx context.Context) error {
		response, err := st.GetCampaign(ctx, &misstepv1.GetCampaignRequest{CampaignId: id})
		s = response.GetCampaign()
		return err
	})
	return s, err
}

// conclude limits a campaign to the trials that have been made.
func conclude(ctx context.Context, st *station.Station, id string) error {
	s, err := status(ctx, st, id)
	if err != nil {
		return err
	}
	made := station.Finished(s) + s.GetFailed() + s.GetRunning() // and some that wait for another attempt
	return repeat(ctx, time.Minute, func(ctx context.Context) error {
		_, err := st.SetBudget(ctx, &misstepv1.SetBudgetRequest{CampaignId: id, Trials: max(1, made)})
		return err
	})
}

// finish waits for the end of a campaign.
func finish(ctx context.Context, st *station.Station, id string, within time.Duration) error {
	return repeat(ctx, within, func(ctx context.Context) error {
		s, err := status(ctx, st, id)
		if err == nil && s.GetState() != misstepv1.CampaignState_CAMPAIGN_STATE_DONE {
			err = fmt.Errorf("campaign %s is not done: %d trials recorded, %d running, %d queued", id, station.Finished(s),
				s.GetRunning(), s.GetQueued())
		}
		return err
	})
}
