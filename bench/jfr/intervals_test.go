package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A row is a sampler on a JDK, a column a workload at an interval; what was not measured stays empty.
func TestTablesOfIntervals(t *testing.T) {
	cellOf := func(sampler, jdk, workload string, ms time.Duration, s summary) *cell {
		return &cell{Sampler: sampler, JDK: jdk, Workload: workload, Requested: ms * time.Millisecond, Summary: s}
	}
	m := &intervals{cells: []*cell{
		cellOf("b", "jdk17", "mix", 20, summary{
			Threads: 2, Samples: 30, Median: 21 * time.Millisecond, Difference: 0.05, Lost: 2, Absent: 1,
		}),
		cellOf("a", "jdk25", "still", 1, summary{Samples: 3}),
		cellOf("a", "jdk17", "still", 5, summary{
			Threads: 1, Samples: 9, Median: 6 * time.Millisecond, Difference: 0.2, PerCPU: time.Millisecond,
		}),
	}}
	tables := m.tables()
	require.Len(t, tables, len(intervalFigures))
	require.Equal(t, []string{
		"sampler", "JDK", "still 1", "still 5", "still 10", "still 20", "churn 1", "churn 5", "churn 10", "churn 20",
		"mix 1", "mix 5", "mix 10", "mix 20",
	}, tables[0].Columns)
	row := func(sampler, jdk string, at int, figure string) []string {
		out := make([]string, len(tables[0].Columns))
		out[0], out[1], out[at] = sampler, jdk, figure
		return out
	}
	for i, want := range [][3]string{{"6", "-", "21"}, {"20", "-", "5"}, {"1", "-", "-"}, {"9", "3", "30 (3)"}} {
		require.Equal(t, [][]string{
			row("a", "jdk17", 3, want[0]), row("a", "jdk25", 2, want[1]), row("b", "jdk17", 13, want[2]),
		}, tables[i].Rows, intervalFigures[i].title)
	}
}
