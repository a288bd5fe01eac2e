package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"misstep/coordinator/rates"
	"misstep/coordinator/store"
	"misstep/coordinator/store/sqlrows"
	misstepv1 "misstep/proto/misstep/v1"
)

// fillCombinations is the second half of migration 10: it fills in the combinations and counts of existing trials from their
// recipes and outcomes.
func fillCombinations(ctx context.Context, db *sql.Tx) error {
	t := sqlrows.New(ctx, db, sqlrows.Question)
	// Columns that are younger than this migration have defaults, which are right for trials that are older.
	columns := strings.Split(sqlrows.CombinationColumns, ", ")[:8]
	const page = 100
	for after, more := uint64(0), true; more; {
		rows, err := sqlrows.List(t, "trials", scanOldTrial,
			"SELECT id, campaign, recipe, outcome, findings FROM trials WHERE id > ? ORDER BY id LIMIT ?", int64(after), page)
		if err != nil {
			return err
		}
		more = len(rows) == page
		for _, row := range rows {
			after = row.ID
			of := rates.CombinationOf(row.Campaign, row.Recipe)
			if err := t.Exec(fmt.Sprintf("count trial %d", row.ID),
				"UPDATE trials SET (counts, "+strings.Join(columns, ", ")+") = (?,?,?,?,?,?,?,?,?) WHERE id = ?",
				row.Counts(), of.Campaign, of.JDK, of.Workload, of.FlagSet, of.Checks, of.Perturbation, of.Ratio, of.Interval,
				int64(row.ID)); err != nil {
				return err
			}
			for _, f := range row.FindingIDs {
				if err := t.Exec("store a hit of finding "+f, "INSERT OR IGNORE INTO shown (finding, trial) VALUES (?,?)", f,
					int64(row.ID)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// scanOldTrial reads what is counted of a trial as migration 1 made its row.
func scanOldTrial(scan func(...any) error) (*store.Trial, error) {
	var (
		trial           store.Trial
		id              int64
		recipe, outcome any
		findings        string
	)
	if err := scan(&id, &trial.Campaign, &recipe, &outcome, &findings); err != nil {
		return nil, err
	}
	trial.ID = uint64(id)
	if findings != "" {
		trial.FindingIDs = strings.Split(findings, ",")
	}
	var err1, err2 error
	trial.Recipe, err1 = sqlrows.Unmarshal(recipe, &misstepv1.Recipe{})
	trial.Outcome, err2 = sqlrows.Unmarshal(outcome, &misstepv1.Outcome{})
	return &trial, errors.Join(err1, err2)
}
