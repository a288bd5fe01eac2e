package sqlrows

import (
	"errors"
	"fmt"

	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
)

const campaignColumns = "id, submission, state, submitted, ended, next, turn, tally, probes, strategy_state, owner, owner_turn"

var putCampaign = upsert("campaigns", "id", campaignColumns)

// PutCampaign implements store.Tx.
func (t *Tx) PutCampaign(c *store.Campaign) error {
	submission, err := Marshal(c.Submission)
	if err != nil {
		return fmt.Errorf("write campaign %s: %w", c.ID, err)
	}
	tally, err := Marshal(c.Tally)
	if err != nil {
		return fmt.Errorf("write the tally of campaign %s: %w", c.ID, err)
	}
	return t.Exec("store campaign "+c.ID, putCampaign,
		c.ID, submission, int32(c.State), nanos(c.Submitted), nanos(c.Ended), int64(c.Next), int64(c.Turn), tally, c.Probes,
		c.StrategyState, c.Owner, int64(c.OwnerTurn))
}

func scanCampaign(scan func(...any) error) (*store.Campaign, error) {
	var (
		c                 store.Campaign
		submission, tally any
		state             int32
		submitted, ended  int64
		next, turn        int64
		ownerTurn         int64
	)
	if err := scan(&c.ID, &submission, &state, &submitted, &ended, &next, &turn, &tally, &c.Probes, &c.StrategyState,
		&c.Owner, &ownerTurn); err != nil {
		return nil, err
	}
	c.State, c.Submitted, c.Ended = misstepv1.CampaignState(state), fromNanos(submitted), fromNanos(ended)
	c.Next, c.Turn, c.OwnerTurn = uint64(next), uint64(turn), uint64(ownerTurn)
	var err1, err2 error
	c.Submission, err1 = Unmarshal(submission, &misstepv1.SubmitCampaignRequest{})
	c.Tally, err2 = Unmarshal(tally, &misstepv1.CampaignStatus{})
	return &c, errors.Join(err1, err2)
}

// Campaign implements store.Tx.
func (t *Tx) Campaign(id string) (*store.Campaign, error) {
	c, err := scanCampaign(t.row("SELECT "+campaignColumns+" FROM campaigns WHERE id = ?", id))
	if err != nil {
		return nil, fmt.Errorf("campaign %q: %w", id, err)
	}
	return c, nil
}

// Campaigns implements store.Tx.
func (t *Tx) Campaigns(runningOnly bool) ([]*store.Campaign, error) {
	query, args := "SELECT "+campaignColumns+" FROM campaigns", []any(nil)
	if runningOnly {
		query, args = query+" WHERE state = ?", []any{int32(misstepv1.CampaignState_CAMPAIGN_STATE_RUNNING)}
	}
	return List(t, "campaigns", scanCampaign, query+" ORDER BY submitted DESC, id DESC", args...)
}
