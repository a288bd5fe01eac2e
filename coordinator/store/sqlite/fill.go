package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"misstep/coordinator/rates"
	"misstep/coordinator/store/sqlrows"
)

// fillCombinations is the second half of migration 10: it fills in the combinations and counts of existing trials from their
// recipes and outcomes.
func fillCombinations(ctx context.Context, db *sql.Tx) error {
	t := sqlrows.New(ctx, db, sqlrows.Question)
	scanID := func(scan func(...any) error) (id string, err error) { return id, scan(&id) }
	campaigns, err := sqlrows.List(t, "campaigns", scanID, "SELECT DISTINCT campaign FROM trials")
	if err != nil {
		return err
	}
	// Columns that are younger than this migration have defaults, which are right for trials that are older.
	columns := strings.Split(sqlrows.CombinationColumns, ", ")[:8]
	const page = 100
	for _, c := range campaigns {
		for after, more := uint64(0), true; more; {
			rows, err := t.Trials(c, after, page)
			if err != nil {
				return err
			}
			more = len(rows) == page
			for _, row := range rows {
				after = row.ID
				of := rates.CombinationOf(row.Campaign, row.Recipe)
				values := []any{
					row.Counts(), of.Campaign, of.JDK, of.Workload, of.FlagSet, of.Checks, of.Perturbation, of.Ratio, of.Interval,
				}
				if err := t.Exec(fmt.Sprintf("count trial %d", row.ID),
					"UPDATE trials SET (counts, "+strings.Join(columns, ", ")+") = (?,?,?,?,?,?,?,?,?) WHERE id = ?",
					append(values[:1+len(columns)], int64(row.ID))...); err != nil {
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
	}
	return nil
}
