// Command chaos runs campaigns while everything around them fails: coordinators and runners are killed, stopped and restarted, half
// of the runners at once and again and again, the network cuts, freezes and slows connections, the clock jumps, disks are full, the
// object store is overloaded. Every trial must be recorded once, and the findings must be those of an undisturbed run with the same
// seed.
//
// SEED repeats the draws of a run; when each fault hits still depends on the machine.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"misstep/app/local"
	"misstep/bench"
	"misstep/internal/home"
	"misstep/internal/proxy/objects"
	"misstep/internal/testenv"
)

// wanted is the goal for the number of faults.
const wanted = 1000

func main() {
	if len(os.Args) > 1 {
		if err := role(os.Args[1:]); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", os.Args[1], err)
			os.Exit(1)
		}
		return
	}
	bench.Main("chaos", run)
}

// role runs this process as one of the services of a run.
func role(args []string) error {
	switch {
	case args[0] == roleCoordinator && len(args) == 7:
		return coordinatorRole(args[1], args[2], args[3], args[4], args[5:]...)
	case args[0] == roleRunner && len(args) == 5:
		slots, err1 := strconv.Atoi(args[2])
		duration, err2 := time.ParseDuration(args[3])
		if err := errors.Join(err1, err2); err != nil {
			return err
		}
		return runnerRole(args[1], slots, duration, args[4])
	}
	return fmt.Errorf("expected no arguments, got %q: BUDGET and SEED are environment variables", args)
}

// seedOf parses the environment variable SEED; an empty one draws.
func seedOf(text string, now time.Time) (uint64, error) {
	if text == "" {
		return uint64(now.UnixNano()), nil
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("SEED=%s: expected a number from 0", text)
	}
	return seed, nil
}

func run(ctx context.Context, stdout io.Writer) error {
	budget, err := bench.Budget(os.Getenv("BUDGET"))
	if err != nil {
		return err
	}
	start := time.Now()
	seed, err := seedOf(os.Getenv("SEED"), start)
	if err != nil {
		return err
	}
	bench.Note("SEED=%d", seed)
	build := filepath.Join(testenv.Root(), "build", "bench")
	dir := filepath.Join(build, "chaos")
	for _, phase := range []string{"simulated", "bucket", "real"} { // a killed run leaves its disks
		_ = syscall.Unmount(filepath.Join(dir, phase, "disk"), syscall.MNT_DETACH)
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("empty the folder of the run: %w", err)
	}
	i := local.Installation{Home: home.Dir(), AgentDir: filepath.Join(testenv.Root(), "build", "agent")}
	program := filepath.Join(testenv.Root(), "build", "bin", "misstep")
	simulated, err1 := simulatedPhase(filepath.Join(dir, "simulated"), seed, false)
	bucket, err2 := simulatedPhase(filepath.Join(dir, "bucket"), seed, true)
	jvms, err3 := realPhase(ctx, filepath.Join(dir, "real"), seed, seed%2 == 1, i, program)
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	var all []outcome
	parts := []bench.Part{part("simulated", simulated, 2, &all), part("bucket", bucket, 2, &all), part("real", jvms, 1, &all)}
	broken := bench.Measure(ctx, parts, os.Getenv("PARTS"), budget)
	if len(all) == 0 {
		return broken
	}
	return errors.Join(broken, report(start, budget, all).Finish(stdout, build)) // what the parts before have shown
}

// part is a phase with its share of the budget.
func part(name string, p phase, share float64, all *[]outcome) bench.Part {
	return bench.Part{Name: name, Share: share, Measure: func(ctx context.Context, until time.Time) error {
		o, err := p.run(ctx, until)
		if err == nil {
			*all = append(*all, o)
		}
		return err
	}}
}

// report is the report of the phases.
func report(start time.Time, budget time.Duration, phases []outcome) bench.Report {
	sum := func(of func(outcome) int) (n float64) {
		for _, o := range phases {
			n += float64(of(o))
		}
		return n
	}
	none := func(name, unit string, of func(outcome) int) bench.Goal {
		return bench.Goal{Name: name, Goal: 0, Measured: sum(of), Unit: unit}
	}
	faults := bench.Table{Title: "faults", Columns: []string{"fault"}}
	checks := bench.Table{Title: "after the faults", Columns: []string{
		"phase", "trials", "missing", "twice", "given up", "retries", "findings", "different", "evidence missing", "left", "panics",
	}}
	for _, o := range phases {
		faults.Columns = append(faults.Columns, o.Phase)
		numbers := words(o.Trials, o.Missing, o.Repeated, o.GivenUp, int(o.Retries), o.Findings, o.Different, o.NoEvidence,
			len(o.Left), len(o.Panics))
		checks.Rows = append(checks.Rows, append([]string{o.Phase}, numbers...))
	}
	for _, c := range slices.Concat(choices, objectChoices) {
		row := []string{string(c.kind)}
		for _, o := range phases {
			row = append(row, strconv.Itoa(o.Faults[c.kind]))
		}
		faults.Rows = append(faults.Rows, row)
	}
	requests := bench.Table{Title: "requests to the object store that were hit", Columns: faults.Columns}
	for _, fault := range objects.All {
		row := []string{string(fault)}
		for _, o := range phases {
			row = append(row, strconv.Itoa(o.Requests[fault]))
		}
		requests.Rows = append(requests.Rows, row)
	}
	notes := bench.Table{Title: "notes", Columns: []string{"phase", "note"}}
	for _, o := range phases {
		for _, note := range slices.Concat(o.Notes, o.Left, o.Panics) {
			notes.Rows = append(notes.Rows, []string{o.Phase, note})
		}
	}
	total := sum(outcome.faults)
	return bench.Report{
		Name: "chaos", Date: start, Budget: budget,
		Reached: fmt.Sprintf("%.0f faults, %.0f trials in %s", total, sum(func(o outcome) int { return o.Trials }),
			time.Since(start).Round(time.Second)),
		Goals: []bench.Goal{
			{Name: "faults", Goal: wanted, Measured: total, Unit: "faults", AtLeast: true},
			none("not recorded", "trials", func(o outcome) int { return o.Missing }),
			none("recorded that do not exist", "trials", func(o outcome) int { return o.Other }),
			none("recorded more than once", "trials", func(o outcome) int { return o.Repeated }),
			none("given up", "trials", func(o outcome) int { return o.GivenUp }),
			none("other than without faults", "trials and findings", func(o outcome) int { return o.Different }),
			none("evidence missing", "files", func(o outcome) int { return o.NoEvidence }),
			none("left behind", "things", func(o outcome) int { return len(o.Left) }),
			none("panics", "lines", func(o outcome) int { return len(o.Panics) }),
		},
		Tables: []bench.Table{faults, requests, checks, notes}, Rows: phases,
	}
}

func words(numbers ...int) (all []string) {
	for _, n := range numbers {
		all = append(all, strconv.Itoa(n))
	}
	return all
}
