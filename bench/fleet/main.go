// Command fleet measures how many results with their next leases coordinators take in: simulated runners over real connections with
// TLS, on each kind of store, beside bare inserts of the same rows into the same database.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"misstep/bench"
	"misstep/internal/testenv"
)

func main() {
	bench.Main("fleet", func(ctx context.Context, stdout io.Writer) error {
		// The benchmark starts itself for the processes that it measures.
		if len(os.Args) > 1 {
			return role(ctx, os.Args[1], os.Stdin, stdout)
		}
		o, err := readOptions(os.Getenv)
		if err != nil {
			return err
		}
		return run(ctx, stdout, o)
	})
}

// measured is how long each cell is measured, after all runners are connected.
const measured = 10 * time.Second

func run(ctx context.Context, stdout io.Writer, o options) error {
	start := time.Now()
	dir := filepath.Join(testenv.Root(), "build", "bench", "fleet")
	remove := dir
	if o.keep {
		remove = filepath.Join(dir, "bare")
	}
	if err := os.RemoveAll(remove); err != nil {
		return fmt.Errorf("empty the folder of the stores: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the folder of the stores: %w", err)
	}
	end := bench.Progress("fleet", start.Add(o.budget))
	r := results{options: o, until: start.Add(o.budget)}
	err := r.measure(ctx, dir)
	end()
	if err != nil {
		return err
	}
	report := bench.Report{
		Name: "fleet", Date: start, Budget: o.budget, Goals: r.goals(), Tables: r.tables(), Rows: r.Cells,
		Reached: fmt.Sprintf("%d of %d cells in %s", len(r.Cells), r.planned, time.Since(start).Round(time.Second)),
	}
	return report.Finish(stdout, filepath.Join(testenv.Root(), "build", "bench"))
}
