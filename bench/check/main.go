// Command check measures what misstep check costs real programs: the CPU time of each alone, under misstep check --light, with
// instrumentation alone, with that but for leaves, and with the default checks, side by side in one run; and the cost of the start.
// PROGRAMS=javac,h2 and JDKS=jdk17 narrow it down.
package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"misstep/app/local"
	"misstep/bench"
	"misstep/internal/testenv"
)

const (
	// Goals, as ratios of CPU time.
	goalInstrumented = 3
	goalLight        = 1.3
	rounds           = 3
)

func main() {
	bench.Main("check", func(ctx context.Context, stdout io.Writer) error {
		return run(ctx, stdout, os.Getenv("BUDGET"),
			list(os.Getenv("PROGRAMS"), "start,javac,h2,lucene,scala3,pekko,mix,forkjoin,indy-link"),
			list(os.Getenv("JDKS"), "jdk17,jdk25"))
	})
}

// list splits a list with commas; other is taken for an empty one.
func list(text, other string) []string {
	if text == "" {
		text = other
	}
	return strings.Split(text, ",")
}

func run(ctx context.Context, stdout io.Writer, budgetText string, programs, jdks []string) error {
	budget, err := bench.Budget(budgetText)
	if err != nil {
		return err
	}
	root := testenv.Root()
	i := local.Installation{
		Home: filepath.Join(root, "build", "home"), AgentDir: filepath.Join(root, "build", "agent"),
	}
	scratch, err := os.MkdirTemp("", "misstep-bench-check-")
	if err != nil {
		return fmt.Errorf("make a folder for the programs: %w", err)
	}
	defer os.RemoveAll(scratch)
	start := time.Now()
	ctx, cancel := context.WithDeadline(ctx, start.Add(budget))
	defer cancel()
	var cells []*cell
	for _, name := range programs {
		for _, jdk := range jdks {
			command, err := commandOf(i, name, jdk, scratch)
			if err != nil {
				return err
			}
			cells = append(cells, &cell{Program: name, JDK: jdk, command: command})
		}
	}
	done := 0
	for range rounds { // whole rounds one after the other, so that a busy hour of the machine does not fall on one program
		for _, c := range cells {
			if ctx.Err() != nil {
				break
			}
			bench.Note("%s on %s", c.Program, c.JDK)
			if err := c.measure(ctx, i); err != nil {
				return err
			}
			done++
		}
	}
	report := bench.Report{
		Name: "check", Date: start, Budget: budget, Rows: cells, Tables: []bench.Table{table(cells)},
		Goals: []bench.Goal{
			{
				Name: "instrumentation alone, the worst program", Goal: goalInstrumented,
				Measured: worst(cells, "instrumented"), Unit: "× CPU",
			},
			{Name: "--light, the worst program", Goal: goalLight, Measured: worst(cells, "light"), Unit: "× CPU"},
		},
		Reached: fmt.Sprintf("%d of %d rounds of a program on a JDK, in %s", done, rounds*len(cells),
			time.Since(start).Round(time.Second)),
	}
	return report.Finish(stdout, filepath.Join(root, "build", "bench"))
}

// worst returns the largest ratio of a variant, NaN if a program was not measured, or none is among the cells.
func worst(cells []*cell, variant string) float64 {
	var ratios []float64
	for _, c := range cells {
		if c.Program != nothing { // which works too little to be compared with
			ratios = append(ratios, c.ratio(variant))
		}
	}
	if len(ratios) == 0 {
		return math.NaN()
	}
	return slices.Max(ratios)
}

func table(cells []*cell) bench.Table {
	t := bench.Table{
		Title: fmt.Sprintf("CPU time and largest resident set compared with the program alone; medians of up to %d rounds",
			rounds),
		Columns: []string{"program", "JDK", "alone"},
	}
	for _, v := range variants {
		t.Columns = append(t.Columns, v.name, "memory", "compared")
	}
	for _, c := range cells {
		row := []string{c.Program, c.JDK, bench.Figure(bench.Median(c.CPU[alone])) + " s"}
		for _, v := range variants {
			row = append(row, bench.Figure(c.ratio(v.name))+" ×",
				bench.Figure(bench.Median(c.RSS[v.name])/bench.Median(c.RSS[alone]))+" ×", fmt.Sprint(c.Compared[v.name]))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
