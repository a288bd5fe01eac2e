// Command jfr measures what is checked about the recordings of JFR and async-profiler, and what that costs. PARTS=tap,intervals
// measures these parts only, with the whole budget.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"misstep/bench"
	"misstep/bench/trial"
	"misstep/runner/recording"
)

func main() { bench.Main("jfr", run) }

func run(ctx context.Context, stdout io.Writer) error {
	budget, err := bench.Budget(os.Getenv("BUDGET"))
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "misstep-bench-jfr-")
	if err != nil {
		return fmt.Errorf("make a folder for the runs: %w", err)
	}
	defer os.RemoveAll(dir)
	bed, err := trial.Open(".", dir)
	if err != nil {
		return err
	}
	jar, err := filepath.Abs(filepath.Join("build", "recording", "misstep-recording.jar"))
	if err != nil {
		return fmt.Errorf("find the helper that reads recordings: %w", err)
	}
	if _, err := os.Stat(jar); err != nil {
		return fmt.Errorf("find the helper that reads recordings: %w (build it with: make recording)", err)
	}
	reader := recording.Helper{Java: filepath.Join(os.Getenv("JAVA_HOME"), "bin", "java"), Jar: jar}
	start := time.Now()
	report := bench.Report{Name: "jfr", Date: start, Budget: budget}
	rows := map[string]any{}
	var reached []string
	add := func(name string, row any, done string, goals []bench.Goal, tables ...bench.Table) {
		rows[name], reached = row, append(reached, done)
		report.Goals, report.Tables = append(report.Goals, goals...), append(report.Tables, tables...)
	}
	err = bench.Measure(ctx, []bench.Part{
		{Name: "specificity", Share: 0.3, Measure: func(ctx context.Context, until time.Time) error {
			s, err := measureSpecificity(ctx, bed, until)
			if err == nil {
				add("specificity", s, s.reached(), s.goals(), s.tables()...)
			}
			return err
		}},
		{Name: "sensitivity", Share: 0.15, Measure: func(ctx context.Context, until time.Time) error {
			s, err := measureSensitivity(ctx, bed, reader, until)
			if err == nil {
				add("sensitivity", s, s.reached(), s.goals(), s.tables()...)
			}
			return err
		}},
		{Name: "tap", Share: 0.15, Measure: func(ctx context.Context, until time.Time) error {
			runs, err := measureTap(ctx, bed, reader, until)
			if err == nil {
				add("tap", runs, fmt.Sprintf("%d runs of the tap", len(runs)), tapGoals(runs), tapTables(runs)...)
			}
			return err
		}},
		{Name: "intervals", Share: 0.15, Measure: func(ctx context.Context, until time.Time) error {
			m, err := measureIntervals(ctx, bed, reader, until)
			if err == nil {
				add("intervals", m.cells, m.reached(), m.goals(), m.tables()...)
			}
			return err
		}},
		{Name: "check", Share: 0.15, Measure: func(ctx context.Context, until time.Time) error {
			all, err := measureCheck(ctx, bed, until)
			if err == nil {
				add("check", all, fmt.Sprintf("%d recordings of 1 GiB", len(all)), checkGoals(all), checkTables(all)...)
			}
			return err
		}},
		{Name: "answers", Share: 0.15, Measure: func(ctx context.Context, until time.Time) error {
			a, err := measureAnswers(ctx, bed, reader, until)
			if err == nil {
				add("answers", a, a.reached(), a.goals(), a.tables()...)
			}
			return err
		}},
		{Name: "rediscovery", Share: 0.25, Measure: func(ctx context.Context, until time.Time) error {
			t, err := measureRediscovery(ctx, bed, reader, until)
			if err == nil {
				add("rediscovery", t, t.reached(), t.goals(), t.tables()...)
			}
			return err
		}},
	}, os.Getenv("PARTS"), budget)
	if err != nil {
		return err
	}
	report.Rows = rows
	report.Reached = fmt.Sprintf("%s, in %v", strings.Join(reached, ", "), time.Since(start).Round(time.Second))
	return report.Finish(stdout, "build/bench")
}
