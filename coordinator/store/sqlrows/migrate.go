package sqlrows

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"strings"

	"github.com/pressly/goose/v3"

	"misstep/coordinator/rates"
)

// Migrate migrates a database to the newest version: the folder migrations of files has those in SQL, and more those in Go. A
// database of a newer version is refused.
func Migrate(ctx context.Context, db *sql.DB, dialect goose.Dialect, files fs.FS, more ...*goose.Migration) error {
	dir, err := fs.Sub(files, "migrations")
	if err != nil {
		return err
	}
	p, err := goose.NewProvider(dialect, db, dir, goose.WithDisableGlobalRegistry(true), goose.WithGoMigrations(more...))
	if err != nil {
		return err
	}
	have, err := p.GetDBVersion(ctx)
	if err != nil {
		return err
	}
	sources := p.ListSources()
	if newest := sources[len(sources)-1].Version; have > newest {
		return fmt.Errorf("its schema has version %d, this program supports up to %d: use the newer misstep that wrote it", have,
			newest)
	}
	_, err = p.Up(ctx)
	return err
}

// CountTrials returns a migration that counts the trials of versions which kept the texts of its combination with each trial.
func CountTrials(d Dialect) func(context.Context, *sql.Tx) error {
	return func(ctx context.Context, db *sql.Tx) error { return New(ctx, db, d).countTrials() }
}

func (t *Tx) countTrials() error {
	all, err := List(t, "combinations", func(scan func(...any) error) (c rates.Combination, err error) {
		return c, scan(&c.Campaign, &c.JDK, &c.Workload, &c.FlagSet, &c.Checks, &c.Perturbation, &c.Ratio, &c.Interval, &c.Profiler)
	}, "SELECT DISTINCT "+CombinationColumns+" FROM trials")
	if err != nil {
		return err
	}
	// An index of SQLite finds the trials of a combination among those that count, and among those that do not.
	update := "UPDATE trials SET combination = ? WHERE counts = ? AND " +
		strings.ReplaceAll(CombinationColumns, ", ", " = ? AND ") + " = ?"
	for _, c := range all {
		if err := t.PutCombination(c); err != nil {
			return err
		}
		for _, counts := range []bool{false, true} {
			if err := t.Exec("count trials of campaign "+c.Campaign, update, CombinationID(c), counts, c.Campaign, c.JDK,
				c.Workload, c.FlagSet, c.Checks, c.Perturbation, c.Ratio, c.Interval, c.Profiler); err != nil {
				return err
			}
		}
	}
	for _, fill := range []string{
		fmt.Sprintf(`INSERT INTO combination_counts (span, combination, n)
			SELECT id / %d AS span, combination, count(*) FROM trials WHERE counts GROUP BY id / %d, combination`, SpanSize, SpanSize),
		`INSERT INTO shown_counts (combination, findings, n)
			SELECT combination, ids, count(*) FROM trials JOIN
				(SELECT trial, string_agg(finding, ',' ORDER BY finding) AS ids FROM shown GROUP BY trial) AS hits ON trial = id
			WHERE counts GROUP BY combination, ids`,
		`INSERT INTO last_hits (finding, jdk, trial, ended)
			SELECT finding, jdk, id, ended FROM trials JOIN
				(SELECT finding, max(id) AS last FROM shown JOIN trials ON id = trial WHERE counts GROUP BY finding, jdk) AS hits
			ON id = last`,
	} {
		if err := t.Exec("count the trials", fill); err != nil {
			return err
		}
	}
	return nil
}
