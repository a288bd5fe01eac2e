// Command fleet measures how many results with their next leases coordinators take in: simulated runners over real connections with
// TLS, on each kind of store, beside bare inserts of the same rows into the same database. Then it lets storms hit fleets: runners
// that end and come back at once, coordinators that restart, disks that are slow, databases that stand still.
package main

import (
	"context"
	"errors"
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
			return roleOf(ctx, os.Args[1:], os.Stdin, stdout)
		}
		o, err := readOptions(os.Getenv)
		if err != nil {
			return err
		}
		return run(ctx, stdout, o)
	})
}

// roleOf runs this process as one of those that are measured.
func roleOf(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	switch args[0] {
	case roleStormCoordinator:
		return stormCoordinatorRole(args[1:])
	case roleStormRunners:
		return stormRunnersRole(ctx, in, out)
	default:
		return role(ctx, args[0], in, out)
	}
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
	r := results{options: o}
	broken := bench.Measure(ctx, []bench.Part{
		{Name: partCells, Share: 3, Measure: func(ctx context.Context, until time.Time) error {
			r.until = until
			return r.measure(ctx, dir)
		}},
		{Name: partRecipes, Share: 1, Measure: func(ctx context.Context, until time.Time) error {
			return r.measureRecipes(ctx, dir, until)
		}},
		{Name: partReads, Share: 1, Measure: func(ctx context.Context, until time.Time) error {
			return r.measureReads(ctx, dir, until)
		}},
		{Name: partStorms, Share: 2, Measure: func(ctx context.Context, until time.Time) error {
			return r.measureStorms(ctx, dir, until)
		}},
	}, o.parts, o.budget)
	if broken != nil && len(r.Cells)+len(r.Hits)+len(r.Looks) == 0 {
		return broken
	}
	report := bench.Report{
		Name: "fleet", Date: start, Budget: o.budget, Goals: r.goals(), Tables: r.tables(), Rows: r,
		Reached: fmt.Sprintf("%d of %d cells, %d storms in %s", len(r.Cells), r.planned, len(r.Hits),
			time.Since(start).Round(time.Second)),
	}
	return errors.Join(broken, report.Finish(stdout, filepath.Join(testenv.Root(), "build", "bench")))
}
