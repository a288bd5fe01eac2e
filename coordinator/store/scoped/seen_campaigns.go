package scoped

import (
	"slices"

	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
)

// showing are the outcomes that findings come from.
var showing = []misstepv1.OutcomeKind{
	misstepv1.OutcomeKind_OUTCOME_KIND_CRASH, misstepv1.OutcomeKind_OUTCOME_KIND_HANG,
	misstepv1.OutcomeKind_OUTCOME_KIND_MISMATCHES,
}

// Campaign implements store.Tx.
func (t *Seen) Campaign(id string) (*store.Campaign, error) {
	c, err := t.Tx.Campaign(id)
	if err != nil {
		return nil, err
	}
	return t.campaign(c)
}

// Campaigns implements store.Tx.
func (t *Seen) Campaigns(runningOnly bool) ([]*store.Campaign, error) {
	all, err := t.Tx.Campaigns(runningOnly)
	if err != nil {
		return nil, err
	}
	seen := all[:0]
	for _, c := range all {
		c, err := t.campaign(c)
		if isNotFound(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		seen = append(seen, c)
	}
	clear(all[len(seen):])
	return seen, nil
}

// campaign returns one whose tally names no hidden findings; store.ErrNotFound when all of it is hidden.
func (t *Seen) campaign(c *store.Campaign) (*store.Campaign, error) {
	if err := t.load(); err != nil {
		return nil, err
	}
	hidden, err := t.probing(c.ID)
	if err != nil {
		return nil, err
	}
	if hidden {
		return nil, noRow("campaign", c.ID)
	}
	if t.reader.Abroad { // the versions of JDKs, from which it follows which bugs are known there
		return &store.Campaign{
			ID: c.ID, Submission: &misstepv1.SubmitCampaignRequest{Jdks: c.Submission.GetJdks()},
			Tally: &misstepv1.CampaignStatus{},
		}, nil
	}
	ids := t.named(c.Tally.GetFindingIds())
	if t.changes || len(ids) == len(c.Tally.GetFindingIds()) {
		return c, nil
	}
	other := *c
	other.Tally = misstepv1.Shallow(c.Tally)
	other.Tally.FindingIds, other.Tally.Checks, other.Tally.Signals = ids, nil, nil
	other.Tally.Compared, other.Tally.FailedBeside = nil, nil
	other.Tally.Outcomes = make(map[string]uint64, len(c.Tally.GetOutcomes()))
	showing := showing
	if c.Submission.GetCampaign().GetFailureFindings() {
		showing = append(slices.Clone(showing), misstepv1.OutcomeKind_OUTCOME_KIND_APPLICATION_FAILURE)
	}
	for kind, n := range c.Tally.GetOutcomes() {
		if slices.ContainsFunc(showing, func(k misstepv1.OutcomeKind) bool { return misstepv1.OutcomeName(k) == kind }) {
			kind = HiddenOutcome
		}
		other.Tally.Outcomes[kind] += n
	}
	return &other, nil
}

// Trials implements store.Tx.
func (t *Seen) Trials(campaign string, after uint64, limit int) ([]*store.Trial, error) {
	if err := t.load(); err != nil {
		return nil, err
	}
	hidden, err := t.probing(campaign)
	if err != nil || hidden || t.reader.Abroad {
		return nil, err
	}
	var seen []*store.Trial
	for size := limit; len(seen) < limit; size = max(limit-len(seen), trialsPage) {
		all, err := t.Tx.Trials(campaign, after, size)
		if err != nil {
			return nil, err
		}
		if len(all) == 0 {
			break
		}
		after = all[len(all)-1].ID
		for _, trial := range all {
			if !slices.ContainsFunc(trial.FindingIDs, t.hides) {
				seen = append(seen, trial)
			}
		}
	}
	return seen[:min(len(seen), limit)], nil
}

// trialsPage is the least number of trials that are read at once after some were hidden; each may have half a MiB.
const trialsPage = 100
