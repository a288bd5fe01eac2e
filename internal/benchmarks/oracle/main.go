// Command oracle measures what the agent's checks miss (sensitivity, by injected faults), what they invent (specificity, by real
// workloads without faults), and how long the known bugs take to show (calibration).
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"time"

	"misstep/agent"
	"misstep/internal/bench"
	"misstep/internal/benchmarks/trial"
)

func main() {
	if err := run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench-oracle:", err)
		os.Exit(1)
	}
}

// Where in the budget each part ends; calibration has the rest.
const (
	misbehaviourEnd = 0.15
	sensitivityEnd  = 0.45
	specificityEnd  = 0.75
)

func run(stdout io.Writer) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	budget, err := bench.Budget(os.Getenv("BUDGET"))
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "misstep-bench-oracle-")
	if err != nil {
		return fmt.Errorf("make a folder for the runs: %w", err)
	}
	defer os.RemoveAll(dir)
	bed, err := trial.Open(".", dir)
	if err != nil {
		return err
	}
	start := time.Now()
	until := func(share float64) time.Time { return start.Add(time.Duration(share * float64(budget))) }
	results := struct {
		Sensitivity *sensitivity
		Misbehaved  []misbehaviour
		Specificity *specificity
		Calibration []calibration
	}{Sensitivity: newSensitivity(), Specificity: newSpecificity()}

	if results.Misbehaved, err = measureMisbehaviour(ctx, bed, until(misbehaviourEnd)); err != nil {
		return err
	}
	if err := results.Sensitivity.measure(ctx, bed, until(sensitivityEnd)); err != nil {
		return err
	}
	if err := results.Specificity.measure(ctx, bed, until(specificityEnd)); err != nil {
		return err
	}
	if results.Calibration, err = measureCalibration(ctx, bed, until(1)); err != nil {
		return err
	}
	report := bench.Report{Name: "oracle", Date: start, Budget: budget, Rows: results}
	report.Tables = append(report.Tables, results.Sensitivity.table(), misbehaviourTable(results.Misbehaved),
		results.Specificity.countTable(), results.Specificity.familyTable(), calibrationTable(results.Calibration))
	report.Goals = slices.Concat(results.Sensitivity.goals(), misbehaviourGoals(results.Misbehaved), results.Specificity.goals(),
		calibrationGoals(results.Calibration))
	report.Reached = fmt.Sprintf("%d runs with faults, %d without, %d for calibration, in %v",
		results.Sensitivity.Runs, results.Specificity.Runs, calibrationTrials(results.Calibration), time.Since(start).Round(time.Second))
	return report.Finish(stdout, "build/bench")
}

// checks gives each check a share: entry of the method entries for those at entries, all for the others.
func checks(entry float64) map[string]float64 {
	shares := map[string]float64{}
	for _, name := range agent.Checks {
		shares[name] = 1
	}
	shares["gst-asgct"], shares["shadow-gst"] = entry, entry
	return shares
}

// note tells on stderr what goes on.
func note(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%s "+format+"\n", append([]any{time.Now().Format(time.TimeOnly)}, args...)...)
}
