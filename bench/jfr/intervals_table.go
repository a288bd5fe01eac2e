package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"misstep/bench"
)

// intervalFigures are what the tables show of each cell; the JSON has the rest.
var intervalFigures = []struct {
	title string
	show  func(summary) string
}{
	{
		"ms from sample to sample, the median of a thread; of all threads with at least 5 samples the median",
		func(s summary) string { return millis(s.Median) },
	},
	{
		"% by which that is off what was asked, likewise",
		func(s summary) string {
			if s.Threads == 0 {
				return "-"
			}
			return fmt.Sprintf("%.0f", math.Round(100*s.Difference))
		},
	},
	{"ms of CPU time by sample, where the program reports its threads'", func(s summary) string { return millis(s.PerCPU) }},
	{
		"samples that there are, and in brackets how many were lost, failed or have no trace",
		func(s summary) string {
			if gone := s.Lost + s.Failed + s.Absent; gone > 0 {
				return fmt.Sprintf("%d (%d)", s.Samples, gone)
			}
			return fmt.Sprint(s.Samples)
		},
	},
}

// tables have a row for each sampler and JDK, and a column for each workload and interval.
func (m *intervals) tables() []bench.Table {
	type row struct{ sampler, jdk string }
	type column struct {
		workload string
		interval time.Duration
	}
	cells := map[row]map[column]summary{}
	for _, c := range m.cells {
		at := row{c.Sampler, c.JDK}
		if cells[at] == nil {
			cells[at] = map[column]summary{}
		}
		cells[at][column{c.Workload, c.Requested}] = c.Summary
	}
	rows := make([]row, 0, len(cells))
	for r := range cells {
		rows = append(rows, r)
	}
	slices.SortFunc(rows, func(a, b row) int { return cmp.Or(cmp.Compare(a.sampler, b.sampler), cmp.Compare(a.jdk, b.jdk)) })
	var out []bench.Table
	for _, f := range intervalFigures {
		t := bench.Table{Title: f.title, Columns: []string{"sampler", "JDK"}}
		for _, w := range intervalWorkloads {
			for _, i := range requestedIntervals {
				t.Columns = append(t.Columns, fmt.Sprintf("%s %d", w.name, i.Milliseconds()))
			}
		}
		for _, r := range rows {
			line := []string{r.sampler, r.jdk}
			for _, w := range intervalWorkloads {
				for _, i := range requestedIntervals {
					s, measured := cells[r][column{w.name, i}]
					if !measured {
						line = append(line, "")
						continue
					}
					line = append(line, f.show(s))
				}
			}
			t.Rows = append(t.Rows, line)
		}
		out = append(out, t)
	}
	return out
}

// millis is a time in milliseconds, "-" for none.
func millis(d time.Duration) string {
	if d == 0 {
		return "-"
	}
	return bench.Figure(float64(d.Round(10*time.Microsecond)) / 1e6)
}
