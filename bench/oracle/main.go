// Command oracle measures what the agent's checks miss (sensitivity, by injected faults), their false positives (specificity, by
// real workloads without faults), how long it takes to observe the known bugs (calibration), and whether the agent's perturbations
// make them show more often. PARTS=specificity,calibration measures these parts only, with the whole budget.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"misstep/bench"
	"misstep/bench/trial"
	"misstep/recipe"
)

func main() { bench.Main("oracle", run) }

func run(ctx context.Context, stdout io.Writer) error {
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
	results := struct {
		Sensitivity *sensitivity
		Misbehaved  []misbehaviour
		Specificity *specificity
		Calibration []calibration
		Perturbed   *perturbations
	}{Sensitivity: newSensitivity(), Specificity: newSpecificity("build/bench/oracle"), Perturbed: &perturbations{}}
	start := time.Now()
	report := bench.Report{Name: "oracle", Date: start, Budget: budget}
	add := func(goals []bench.Goal, tables ...bench.Table) {
		report.Goals, report.Tables = append(report.Goals, goals...), append(report.Tables, tables...)
	}
	err = bench.Measure(ctx, []bench.Part{
		{Name: "misbehaviour", Share: 0.15, Measure: func(ctx context.Context, until time.Time) (err error) {
			results.Misbehaved, err = measureMisbehaviour(ctx, bed, until)
			add(misbehaviourGoals(results.Misbehaved), misbehaviourTable(results.Misbehaved))
			return err
		}},
		{Name: "sensitivity", Share: 0.3, Measure: func(ctx context.Context, until time.Time) error {
			err := results.Sensitivity.measure(ctx, bed, until)
			add(results.Sensitivity.goals(), results.Sensitivity.table())
			return err
		}},
		{Name: "specificity", Share: 0.3, Measure: func(ctx context.Context, until time.Time) error {
			err := results.Specificity.measure(ctx, bed, until)
			add(results.Specificity.goals(), results.Specificity.countTable(), results.Specificity.runsTable(),
				results.Specificity.familyTable())
			return err
		}},
		{Name: "calibration", Share: 0.25, Measure: func(ctx context.Context, until time.Time) (err error) {
			results.Calibration, err = measureCalibration(ctx, bed, until)
			add(calibrationGoals(results.Calibration), calibrationTable(results.Calibration))
			return err
		}},
		{Name: "perturbation", Share: 0.25, Measure: func(ctx context.Context, until time.Time) error {
			err := results.Perturbed.measure(ctx, bed, until)
			add(nil, results.Perturbed.table())
			return err
		}},
	}, os.Getenv("PARTS"), budget)
	if err != nil {
		return err
	}
	report.Rows = results
	report.Reached = fmt.Sprintf("%d runs with faults, %d without (%d of them stopped at their time limit), %d for calibration, "+
		"%d for perturbation (%d of them void), in %v",
		results.Sensitivity.Runs, results.Specificity.Runs, results.Specificity.Stopped, calibrationTrials(results.Calibration),
		results.Perturbed.Trials, results.Perturbed.Idle, time.Since(start).Round(time.Second))
	return report.Finish(stdout, "build/bench")
}

// checks returns a share for each check: entry for those at method entries, 1 for the others.
func checks(entry float64) map[string]float64 {
	shares := map[string]float64{}
	for _, name := range recipe.Names(recipe.AgentChecks()) {
		shares[name] = 1
	}
	shares[recipe.GstAsgct], shares[recipe.ShadowGst] = entry, entry
	return shares
}
