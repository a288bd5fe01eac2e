package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"misstep/coordinator/store/stores"
	"misstep/coordinator/store/transfer"
)

type storeCommand struct {
	Backup  storeBackup  `cmd:"" help:"Copy what a coordinator keeps, which may be running, to a folder."`
	Restore storeRestore `cmd:"" help:"Make a coordinator's folder of a backup."`
	Vacuum  storeVacuum  `cmd:"" help:"Let old trials that found nothing age, and remove blobs that nothing refers to."`
	Copy    storeCopy    `cmd:"" help:"Copy a store into an empty one of any kind, and check the copy row by row."`
}

type storeCopy struct {
	From string `arg:"" help:"Store to copy, which may be in use: a folder, a file, or postgres://USER@HOST/DATABASE." placeholder:"URL"`
	To   string `arg:"" help:"Store to fill: a new folder or file, or a database without rows." placeholder:"URL"`
	JSON bool   `help:"Print [{table, rows, digest}] of the copy."`
}

// tellEvery is the time between two lines of progress.
const tellEvery = 2 * time.Second

// Run copies.
func (c *storeCopy) Run(ctx context.Context, e *env) (err error) {
	if err := stores.Exists(c.From); err != nil {
		return err
	}
	from, err := stores.OpenLogged(ctx, c.From, e.warnings())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	to, err := stores.OpenLogged(ctx, c.To, e.warnings())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	told := time.Now()
	tables, err := transfer.Copy(ctx, from, to, func(table string, rows uint64) {
		if time.Since(told) >= tellEvery {
			told = time.Now()
			e.say("copied %d %s", rows, table)
		}
	})
	if err != nil {
		return fmt.Errorf("copy %s to %s: %w", stores.Redacted(c.From), stores.Redacted(c.To), err)
	}
	if c.JSON {
		return e.json(tables)
	}
	w := table(e.stdout)
	fmt.Fprintln(w, "table\trows\tdigest")
	for _, t := range tables {
		fmt.Fprintf(w, "%s\t%d\t%s\n", t.Name, t.Rows, t.Digest)
	}
	return w.Flush()
}
