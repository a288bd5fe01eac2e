package sqlite

import (
	"context"
	"database/sql"
	"fmt"
)

// fillCombinations is the second half of migration 10: it fills in the combinations and counts of existing trials from their
// recipes and outcomes.
func fillCombinations(ctx context.Context, db *sql.Tx) error {
	t := &tx{ctx: ctx, t: db}
	scanID := func(scan func(...any) error) (id string, err error) { return id, scan(&id) }
	campaigns, err := list(t, "campaigns", scanID, "SELECT DISTINCT campaign FROM trials")
	if err != nil {
		return err
	}
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
				if err := t.exec(fmt.Sprintf("count trial %d", row.ID),
					"UPDATE trials SET (counts, "+combinationColumns+") = (?,?,?,?,?,?,?,?,?) WHERE id = ?",
					append(combination(row), int64(row.ID))...); err != nil {
					return err
				}
				if err := t.shows(row.ID, row.FindingIDs); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
