package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A round's runs are compared with each other only, and only those of one JDK.
func TestRelationsAreOfOneRound(t *testing.T) {
	run := func(jdk, round int, variant string, cpu float64) tapRun {
		return tapRun{JDK: jdk, Round: round, Variant: variant, CPU: cpu, Execution: 100}
	}
	all := []tapRun{
		run(25, 0, jfrAlone, 2), run(25, 0, tapped, 3), run(17, 0, jfrAlone, 7), run(17, 0, tapped, 7),
		run(25, 1, tapped, 10), run(25, 1, jfrAlone, 5), run(25, 2, jfrAlone, 5), run(25, 0, instrumented, 3),
	}
	require.Equal(t, []float64{1.5, 2}, relations(all, 25, tapFigures[0], tapped, jfrAlone))
	require.Equal(t, []float64{1}, relations(all, 17, tapFigures[0], tapped, jfrAlone))
	require.Empty(t, relations(all, 17, tapFigures[0], instrumented, jfrAlone))
	goals := tapGoals(all)
	require.InDelta(t, 1, goals[0].Measured, 1e-9)
	for _, g := range goals {
		if g.Unit == "%" {
			require.InDelta(t, 0, g.Measured, 1e-9, g.Name)
		}
	}
	for _, table := range tapTables(all) {
		for _, row := range table.Rows {
			require.Len(t, row, len(table.Columns))
		}
	}
}
