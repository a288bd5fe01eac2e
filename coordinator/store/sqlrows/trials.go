package sqlrows

import (
	"errors"
	"fmt"
	"strings"

	"misstep/coordinator/rates"
	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
)

// CombinationColumns are the columns of a trial by which rates are distinguished.
const CombinationColumns = "campaign, jdk, workload, flag_set, checks, perturbation, ratio, interval, profiler"

const trialColumns = "idx, recipe, outcome, failure, findings, ended, counts, " + CombinationColumns

// addTrial and loadTrial insert nothing when the trial has a result already.
var (
	addTrial  = insertTrial(trialColumns)
	loadTrial = insertTrial(trialColumns + ", id")
)

func insertTrial(columns string) string {
	return "INSERT INTO trials (" + columns + ") VALUES (" + parameters(columns) +
		") ON CONFLICT (campaign, idx) DO NOTHING RETURNING id"
}

// AddTrial implements store.Tx.
func (t *Tx) AddTrial(trial *store.Trial) (uint64, error) { return t.addTrial(trial, addTrial) }

// LoadTrial implements store.Loader.
func (t *Tx) LoadTrial(trial *store.Trial) error {
	_, err := t.addTrial(trial, loadTrial, int64(trial.ID))
	return err
}

// addTrial inserts a trial with a statement that may have more columns than trialColumns.
func (t *Tx) addTrial(trial *store.Trial, statement string, more ...any) (uint64, error) {
	recipe, err1 := Marshal(trial.Recipe)
	outcome, err2 := Marshal(trial.Outcome)
	failure, err3 := Marshal(trial.Failure)
	if err := errors.Join(err1, err2, err3); err != nil {
		return 0, fmt.Errorf("write trial %d of campaign %s: %w", trial.Index, trial.Campaign, err)
	}
	values := []any{int64(trial.Index), recipe, outcome, failure, strings.Join(trial.FindingIDs, ","), nanos(trial.Ended)}
	values = append(append(values, Combination(trial)...), more...)
	var id int64
	if err := t.insert(statement, values...)(&id); err != nil {
		if errors.Is(err, store.ErrNotFound) {
			err = store.ErrExists
		}
		return 0, fmt.Errorf("store the result of trial %d of campaign %s: %w", trial.Index, trial.Campaign, err)
	}
	for _, f := range trial.FindingIDs {
		if err := t.Exec("store a hit of finding "+f, "INSERT INTO shown (finding, trial) VALUES (?,?) ON CONFLICT DO NOTHING", f,
			id); err != nil {
			return 0, err
		}
	}
	return uint64(id), nil
}

// Combination returns the values of a trial's column counts and of its CombinationColumns.
func Combination(trial *store.Trial) []any {
	c := rates.CombinationOf(trial.Campaign, trial.Recipe)
	return []any{
		trial.Counts(), c.Campaign, c.JDK, c.Workload, c.FlagSet, c.Checks, c.Perturbation, c.Ratio, c.Interval, c.Profiler,
	}
}

// Trials implements store.Tx.
func (t *Tx) Trials(campaign string, after uint64, limit int) ([]*store.Trial, error) {
	return List(t, "trials", func(scan func(...any) error) (*store.Trial, error) {
		trial := &store.Trial{Campaign: campaign}
		var (
			id, index, ended         int64
			recipe, outcome, failure any
			findings                 string
		)
		if err := scan(&id, &index, &recipe, &outcome, &failure, &findings, &ended); err != nil {
			return nil, err
		}
		trial.ID, trial.Index, trial.Ended = uint64(id), uint64(index), fromNanos(ended)
		if findings != "" {
			trial.FindingIDs = strings.Split(findings, ",")
		}
		var err1, err2, err3 error
		trial.Recipe, err1 = Unmarshal(recipe, &misstepv1.Recipe{})
		trial.Outcome, err2 = Unmarshal(outcome, &misstepv1.Outcome{})
		trial.Failure, err3 = Unmarshal(failure, &misstepv1.InfrastructureFailure{})
		return trial, errors.Join(err1, err2, err3)
	}, "SELECT id, idx, recipe, outcome, failure, findings, ended FROM trials WHERE campaign = ? AND id > ? ORDER BY id LIMIT ?",
		campaign, int64(after), limit)
}

// PutOutcome implements store.Tx.
func (t *Tx) PutOutcome(id uint64, o *misstepv1.Outcome) error {
	raw, err := Marshal(o)
	if err != nil {
		return fmt.Errorf("write the outcome of trial %d: %w", id, err)
	}
	n, err := t.change(fmt.Sprintf("store the outcome of trial %d", id), "UPDATE trials SET outcome = ? WHERE id = ?", raw, int64(id))
	if err == nil && n == 0 {
		err = fmt.Errorf("trial %d: %w", id, store.ErrNotFound)
	}
	return err
}
