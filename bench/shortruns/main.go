// Command shortruns starts a thousand short-lived JVMs, on every JDK of the catalogue, with signals at the highest possible rate
// and threads that constantly start and end: the agent must cause no crash and no hang.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"misstep/bench"
	"misstep/internal/testenv"
)

// wanted is the goal for the number of runs.
const wanted = 1000

func main() {
	if err := run(context.Background(), os.Getenv("BUDGET")); err != nil {
		fmt.Fprintln(os.Stderr, "shortruns:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, budgetText string) error {
	budget, err := bench.Budget(budgetText)
	if err != nil {
		return err
	}
	root := testenv.Root()
	dir := filepath.Join(root, "build", "bench", "shortruns")
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("empty the folder for runs: %w", err)
	}
	start := time.Now()
	ctx, cancel := context.WithDeadline(ctx, start.Add(budget))
	defer cancel()
	end := bench.Progress("short runs", start.Add(budget))
	s, err := sweep(ctx, root, dir, wanted)
	end()
	if err != nil {
		return err
	}
	report := bench.Report{
		Name: "shortruns", Date: start, Budget: budget,
		Reached: fmt.Sprintf("%d of %d runs, %d signals, %d answered samples, %d entry checks in %s; folders of failed runs are "+
			"kept in %s",
			s.Runs, wanted, s.Sent, s.Answered, s.Entries, time.Since(start).Round(time.Second), dir),
		Goals: []bench.Goal{
			{Name: "runs", Goal: wanted, Measured: float64(s.Runs), Unit: "runs", AtLeast: true},
			{Name: "crashes and hangs that may be the agent's", Goal: 0, Measured: float64(s.ours()), Unit: "runs"},
		},
		Tables: s.tables(), Rows: s,
	}
	return report.Finish(os.Stdout, filepath.Join(root, "build", "bench"))
}

// slots returns the number of concurrent JVMs: one more than there are processors, so that threads are preempted anywhere.
func slots() int { return runtime.NumCPU() + 1 }
