package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"misstep/app"
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
	To   string `arg:"" help:"Store to fill: a new folder or file, or a database without rows, or one in which an earlier copy broke off, which is begun anew." placeholder:"URL"`
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
	to, err := stores.OpenTarget(ctx, c.To, e.warnings())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	told := time.Now()
	tables, err := transfer.Copy(ctx, stores.Redacted(c.From), from, to, func(table string, rows uint64) {
		if time.Since(told) >= tellEvery {
			told = time.Now()
			e.say("copied %d %s", rows, table)
		}
	})
	if err != nil {
		return c.failed(ctx, err)
	}
	e.say("only rows were copied: evidence, JDKs and workloads stay where they are, and belong to the copy, too")
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

// failed is the error of a copy that began.
func (c *storeCopy) failed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%w: %s has a part of the copy and is refused until the same command has run to its end",
			app.ErrInterrupted, stores.Redacted(c.To))
	}
	return fmt.Errorf("copy %s to %s: %w", stores.Redacted(c.From), stores.Redacted(c.To), err)
}
