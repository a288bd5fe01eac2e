package main

import (
	"fmt"
	"slices"
	"strings"

	"misstep/bench"
	"misstep/internal/interval"
)

// tables: each bug by sampler, what the samplers make of the instants at which AsyncGetCallTrace loses a stack, what has no name.
func (t *walkTable) tables() []bench.Table {
	found := bench.Table{
		Title: "known bugs by sampler: wrong samples that have the bug's form; interval of 95 % per million",
		Columns: []string{
			"bug", "case", "JDK", "sampler", "samples", "wrong", "a million", "from", "to", "first after s", "ran s",
		},
	}
	lost := bench.Table{
		Title: "instants at which AsyncGetCallTrace loses the stack by the bug: what the sampler has",
		Columns: []string{
			"bug", "case", "JDK", "sampler", "instants", "right", "wrong likewise", "wrong otherwise", "gave up", "no trace",
		},
	}
	for _, c := range t.Cells {
		low, high := interval.Wilson(c.Wrong, c.Samples)
		rate, first := "-", "-"
		if c.Samples > 0 {
			rate = bench.Figure(1e6 * float64(c.Wrong) / float64(c.Samples))
		}
		if c.Has() {
			first = bench.Figure(c.First)
		}
		found.Rows = append(found.Rows, []string{
			c.Bug, c.Case, c.JDK, c.Sampler, fmt.Sprint(c.Samples), fmt.Sprint(c.Wrong), rate, bench.Figure(1e6 * low),
			bench.Figure(1e6 * high), first, bench.Figure(c.Ran),
		})
		if c.Lost > 0 {
			lost.Rows = append(lost.Rows, []string{
				c.Bug, c.Case, c.JDK, c.Sampler,
				fmt.Sprint(c.Lost), fmt.Sprint(c.Right), fmt.Sprint(c.Same), fmt.Sprint(c.Otherwise),
				fmt.Sprint(c.GaveUp), fmt.Sprint(c.NoTrace),
			})
		}
	}
	rest := bench.Table{
		Title: "wrong samples of no known bug", Columns: []string{"sampler", "JDK", "count", "form", "cases", "example"},
	}
	for _, u := range t.Unnamed {
		rest.Rows = append(rest.Rows, []string{
			u.Sampler, u.JDK, fmt.Sprint(u.Count), u.Form, strings.Join(u.Cases, " "), u.Example,
		})
	}
	tables := []bench.Table{t.matrix(), found, lost, rest}
	if len(t.Failed) > 0 {
		failed := bench.Table{Title: "runs that failed", Columns: []string{"case", "JDK", "variant", "why"}}
		for _, r := range t.Failed {
			failed.Rows = append(failed.Rows, []string{r.Case, r.JDK, r.Variant, r.Failure})
		}
		tables = append(tables, failed)
	}
	return tables
}

// matrix is the table of the documentation: a row for each bug and JDK, a column for each sampler.
func (t *walkTable) matrix() bench.Table {
	m := bench.Table{
		Title: "which sampler has which bug: W+N/A, wrong stacks and none at all; for ASGCT of all its walks, for the others of " +
			"the instants at which ASGCT loses the stack by the bug",
		Columns: []string{"bug", "case", "JDK", asgct, "JFR execution", "JFR CPU time", "vm", "vmx", "fp", "dwarf", "no"},
	}
	var row []string
	for _, c := range t.Cells {
		if row == nil || row[0] != c.Bug || row[1] != c.Case || row[2] != c.JDK {
			row = slices.Repeat([]string{"-"}, len(m.Columns))
			row[0], row[1], row[2] = c.Bug, c.Case, c.JDK
			m.Rows = append(m.Rows, row)
		}
		row[3+order(c.Sampler)] = c.text()
	}
	return m
}

func (c *walkCell) text() string {
	switch {
	case c.Sampler == asgct:
		return fmt.Sprintf("%d+%d/%d", c.Same, c.GaveUp, c.Asked)
	case c.Lost == 0:
		return "-"
	}
	return fmt.Sprintf("%d+%d/%d", c.Same+c.Otherwise, c.GaveUp+c.NoTrace, c.Lost)
}

func (t *walkTable) reached() string {
	return fmt.Sprintf("%d runs for the rediscovery, %d failed", t.Runs, len(t.Failed))
}

// goals: the table has AsyncGetCallTrace's bugs, and async-profiler's "no" is the control: it asks AsyncGetCallTrace at the same
// instant, so that it loses what that loses.
func (t *walkTable) goals() []bench.Goal {
	var bugs []string
	var lost, right uint64
	for _, c := range t.Cells {
		if c.Sampler == asgct && c.Has() && !slices.Contains(bugs, c.Bug) {
			bugs = append(bugs, c.Bug)
		}
		if c.Sampler == "no" {
			lost, right = lost+c.Silent, right+c.SilentRight
		}
	}
	share := 100 * float64(lost-right) / float64(lost) // NaN, which meets no goal, where nothing was lost
	return []bench.Goal{{
		Name: "known bugs of ASGCT seen beside other samplers", Goal: 7, Measured: float64(len(bugs)), AtLeast: true, Unit: "bugs",
	}, {
		Name: "of the stacks that ASGCT loses and does not say so, no loses", Goal: 90, Measured: share, AtLeast: true, Unit: "%",
	}}
}
