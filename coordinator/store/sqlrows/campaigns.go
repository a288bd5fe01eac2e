package sqlrows

import (
	"errors"
	"fmt"
	"strings"

	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
)

const campaignColumns = "id, submission, state, submitted, ended, next, turn, tally, probes, strategy_state"

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
		c.StrategyState)
}

func scanCampaign(scan func(...any) error) (*store.Campaign, error) {
	var (
		c                 store.Campaign
		submission, tally any
		state             int32
		submitted, ended  int64
		next, turn        int64
	)
	if err := scan(&c.ID, &submission, &state, &submitted, &ended, &next, &turn, &tally, &c.Probes, &c.StrategyState); err != nil {
		return nil, err
	}
	c.State, c.Submitted, c.Ended = misstepv1.CampaignState(state), fromNanos(submitted), fromNanos(ended)
	c.Next, c.Turn = uint64(next), uint64(turn)
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

const jobColumns = "campaign, idx, failures, lost, not_before, recipe, template, needs"

const updateJob = "UPDATE jobs SET failures = ?, lost = ?, not_before = ?, recipe = ?, template = ?, needs = ? " +
	"WHERE campaign = ? AND idx = ?"

var insertJob = "INSERT INTO jobs (" + jobColumns + ") VALUES (" + parameters(jobColumns) +
	") ON CONFLICT (campaign, idx) DO NOTHING"

// PutJob implements store.Tx.
func (t *Tx) PutJob(j store.Job) error {
	recipe, template, err := t.writeRecipe(j.Recipe)
	if err != nil {
		return fmt.Errorf("write a waiting job of campaign %s: %w", j.Campaign, err)
	}
	what := "store a waiting job of campaign " + j.Campaign
	values := []any{j.Campaign, int64(j.Index), j.Failures, j.Lost, nanos(j.NotBefore), recipe, template, j.Needs}
	n, err := t.change(what, insertJob, values...)
	if err != nil {
		return err
	}
	if n > 0 {
		t.addQueued(j.Campaign, queued{jobs: 1})
		return nil
	}
	return t.Exec(what, updateJob, append(values[2:], values[:2]...)...)
}

// DeleteJob implements store.Tx.
func (t *Tx) DeleteJob(campaign string, index uint64) error {
	n, err := t.change("delete a waiting job of campaign "+campaign, "DELETE FROM jobs WHERE campaign = ? AND idx = ?", campaign,
		int64(index))
	if n > 0 {
		t.addQueued(campaign, queued{jobs: -1})
	}
	return err
}

func scanJob(scan func(...any) error) (partial[*store.Job], error) {
	var (
		j                          store.Job
		index, notBefore, template int64
		recipe                     any
	)
	if err := scan(&j.Campaign, &index, &j.Failures, &j.Lost, &notBefore, &recipe, &template, &j.Needs); err != nil {
		return partial[*store.Job]{}, err
	}
	j.Index, j.NotBefore = uint64(index), fromNanos(notBefore)
	var err error
	j.Recipe, err = Unmarshal(recipe, &misstepv1.Recipe{})
	return partial[*store.Job]{&j, &j.Recipe, recipe, template}, err
}

// listJobs runs a query for jobs.
func (t *Tx) listJobs(what, query string, args ...any) ([]store.Job, error) {
	rows, err := List(t, what, scanJob, query, args...)
	all, err := whole(t, rows, err)
	var out []store.Job
	for _, j := range all {
		out = append(out, *j)
	}
	return out, err
}

// Jobs implements store.Tx.
func (t *Tx) Jobs(campaign string) ([]store.Job, error) {
	return t.listJobs("waiting jobs", "SELECT "+jobColumns+" FROM jobs WHERE campaign = ? ORDER BY idx", campaign)
}

// ReadyJobs implements store.Tx.
func (t *Tx) ReadyJobs(f store.ReadyFilter) ([]store.Job, error) {
	args := []any{f.Campaign, int64(f.From), nanos(f.At), ""}
	for _, c := range f.Capabilities {
		args = append(args, c)
	}
	return t.listJobs("ready jobs", "SELECT "+jobColumns+" FROM jobs WHERE campaign = ? AND idx >= ? AND not_before <= ? "+
		"AND needs IN (?"+strings.Repeat(",?", len(f.Capabilities))+") ORDER BY idx LIMIT ?", append(args, f.Limit)...)
}
