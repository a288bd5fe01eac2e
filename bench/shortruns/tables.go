package main

import (
	"fmt"
	"maps"
	"slices"

	"misstep/bench"
)

func (s *summary) tables() []bench.Table {
	runs := bench.Table{Title: "Successful runs", Columns: []string{"jdk", "runs"}}
	for _, name := range slices.Sorted(maps.Keys(s.ByJDK)) {
		runs.Rows = append(runs.Rows, []string{name, fmt.Sprint(s.ByJDK[name])})
	}
	troubles := bench.Table{Title: "Others", Columns: []string{"jdk", "preset", "in the walker", "what", "folder"}}
	for _, t := range s.Troubles {
		troubles.Rows = append(troubles.Rows, []string{t.JDK, t.Preset, fmt.Sprint(t.Walker), t.What, t.Dir})
	}
	return []bench.Table{runs, troubles}
}
