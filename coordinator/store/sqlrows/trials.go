package sqlrows

import (
	"errors"
	"fmt"
	"strings"

	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
)

// CombinationColumns are the columns of a combination, by which rates are distinguished.
const CombinationColumns = "campaign, jdk, workload, flag_set, checks, perturbation, ratio, interval, profiler"

const trialColumns = "campaign, idx, recipe, template, outcome, failure, findings, ended, counts, combination"

// AddTrial implements store.Tx.
func (t *Tx) AddTrial(trial *store.Trial) error { return t.AddTrials([]*store.Trial{trial}) }

// AddTrials implements store.Bulk.
func (t *Tx) AddTrials(all []*store.Trial) error { return t.addTrials(trialColumns, all, t.trialRow) }

// LoadTrial implements store.Loader.
func (t *Tx) LoadTrial(trial *store.Trial) error {
	return t.addTrials(trialColumns+", id", []*store.Trial{trial}, func(trial counted) ([]any, error) {
		values, err := t.trialRow(trial)
		return append(values, int64(trial.ID)), err
	})
}

// addTrials inserts nothing for a trial that has a result already.
func (t *Tx) addTrials(columns string, all []*store.Trial, row func(counted) ([]any, error)) error {
	results := make([]counted, len(all))
	for i, trial := range all {
		results[i] = countedTrial(trial)
	}
	const onlyNew = " ON CONFLICT (campaign, idx) DO NOTHING RETURNING id"
	ids, err := insertReturning(t, "results", "trials", columns, onlyNew, results, row)
	if err != nil {
		return err
	}
	var shown [][]any
	for i, trial := range results {
		for _, f := range trial.FindingIDs {
			shown = append(shown, []any{f, ids[i]})
		}
	}
	if _, err := put(t, "hits of findings", "shown", "finding, trial", " ON CONFLICT DO NOTHING", shown, asItIs); err != nil {
		return err
	}
	return t.count(results, ids)
}

// asItIs is the row of a list of values.
func asItIs(values []any) ([]any, error) { return values, nil }

func (t *Tx) trialRow(trial counted) ([]any, error) {
	recipe, template, err1 := t.writeRecipe(trial.Recipe)
	outcome, err2 := any(trial.Encoded), error(nil)
	if trial.Encoded == nil {
		outcome, err2 = Marshal(trial.Outcome)
	}
	failure, err3 := Marshal(trial.Failure)
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, fmt.Errorf("write trial %d of campaign %s: %w", trial.Index, trial.Campaign, err)
	}
	return []any{
		trial.Campaign, int64(trial.Index), recipe, template, outcome, failure, strings.Join(trial.FindingIDs, ","),
		nanos(trial.Ended), trial.Counts(), trial.combinationID,
	}, nil
}

// Trials implements store.Tx.
func (t *Tx) Trials(campaign string, after uint64, limit int) ([]*store.Trial, error) {
	rows, err := List(t, "trials", func(scan func(...any) error) (none partial[*store.Trial], err error) {
		trial := &store.Trial{Campaign: campaign}
		var (
			id, index, ended, template int64
			recipe, outcome, failure   any
			findings                   string
		)
		if err := scan(&id, &index, &recipe, &template, &outcome, &failure, &findings, &ended); err != nil {
			return none, err
		}
		trial.ID, trial.Index, trial.Ended = uint64(id), uint64(index), fromNanos(ended)
		if findings != "" {
			trial.FindingIDs = strings.Split(findings, ",")
		}
		var err1, err2, err3 error
		trial.Recipe, err1 = Unmarshal(recipe, &misstepv1.Recipe{})
		trial.Outcome, err2 = Unmarshal(outcome, &misstepv1.Outcome{})
		trial.Failure, err3 = Unmarshal(failure, &misstepv1.InfrastructureFailure{})
		return partial[*store.Trial]{trial, &trial.Recipe, recipe, template}, errors.Join(err1, err2, err3)
	}, "SELECT id, idx, recipe, template, outcome, failure, findings, ended FROM trials WHERE campaign = ? AND id > ? "+
		"ORDER BY id LIMIT ?", campaign, int64(after), limit)
	return whole(t, rows, err)
}

// PutOutcome implements store.Tx.
func (t *Tx) PutOutcome(id uint64, o *misstepv1.Outcome) error {
	raw, err := Marshal(o)
	if err != nil {
		return fmt.Errorf("write the outcome of trial %d: %w", id, err)
	}
	what := fmt.Sprintf("store the outcome of trial %d", id)
	n, err := t.change(what, "UPDATE trials SET outcome = ? WHERE id = ?", raw, int64(id))
	if err == nil && n == 0 {
		err = fmt.Errorf("trial %d: %w", id, store.ErrNotFound)
	}
	return err
}
