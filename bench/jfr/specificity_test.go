package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/durationpb"

	"misstep/deploy/jdk"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
	"misstep/workloads"
)

func TestTheBeginningOfTheMatrixHasEveryJDKAlike(t *testing.T) {
	var lists [][]combination
	for i, name := range []string{"jdk17", "jdk25", "jdk28"} {
		on := jdk.Entry{}
		on.Name = name
		fit := make([]workloads.Entry, 4)
		for k := range fit {
			fit[k].Name = string(rune('a' + k))
		}
		lists = append(lists, ordered(on, fit, profilers(), i))
	}
	all := roundRobin(lists)
	require.Len(t, all, 3*4*6)
	seen := map[string]bool{}
	jdks, ofJFR := map[string]int{}, map[string]int{}
	for n, c := range all {
		require.False(t, seen[c.name()], "%s twice", c.name())
		seen[c.name()] = true
		jdks[c.on.Name]++
		if n == 23 { // each JDK has run each workload under JFR and under one walker
			require.Equal(t, map[string]int{"jdk17": 8, "jdk25": 8, "jdk28": 8}, jdks)
		}
		if n < 24 && c.profiler.GetName() == recipe.ProfilerJFR {
			ofJFR[c.on.Name+c.workload.Name]++
		}
	}
	require.Len(t, ofJFR, 12)
	require.NotEqual(t, all[0].workload.Name, all[1].workload.Name, "JDKs begin with different workloads")
}

func TestATrialIsCounted(t *testing.T) {
	c := combination{profiler: profilers()[0]}
	c.on.Name, c.on.Version, c.workload.Name = "jdk25", "25.0.3", "mix"
	s := &specificity{Planned: 7}
	mismatch := &misstepv1.Mismatch{
		Check: recipe.JfrChunks, Kind: recipe.KindUndefinedConstant, Count: 3,
		RecordingFault: &misstepv1.RecordingFault{Type: "jdk.types.NoSuch", Referrer: "jdk.NoSuch", Field: "none"},
	}
	outcome := &misstepv1.Outcome{
		Kind: misstepv1.OutcomeKind_OUTCOME_KIND_MISMATCHES, Wall: durationpb.New(3 * time.Second),
		Judging: durationpb.New(time.Second),
		Checks: []*misstepv1.CheckCount{
			{Check: recipe.JfrChunks, Total: 20, Match: 10, Mismatch: 5, Tolerated: map[string]uint64{"a": 1, "b": 4}},
			{Check: recipe.JfrShadow, Total: 2, Void: map[string]uint64{"no-signal": 2}},
		},
		Mismatches: []*misstepv1.Mismatch{mismatch},
	}
	s.add(c, outcome)
	s.add(c, outcome)
	chunks := s.count(recipe.JfrChunks, "jdk25")
	require.EqualValues(t, 40, chunks.judged())
	require.EqualValues(t, 4, chunks.Unlisted, "two of each trial's five have no record")
	require.Zero(t, chunks.Named)
	require.Len(t, s.Families, 1)
	require.EqualValues(t, 6, s.Families[0].Count)
	require.Len(t, s.Blind, 2)
	require.Equal(t, recipe.JfrShadow, s.Blind[0].Check)
	require.Equal(t, "no-signal 2", s.Blind[0].Void)
	goals := map[string]float64{}
	for _, g := range s.goals() {
		goals[g.Name] = g.Measured
		if g.Name != "trials that failed" && g.Name != "judging in relation to the JVMs' time" {
			require.False(t, g.Met(), g.Name)
		}
	}
	require.InDelta(t, 10, goals[recipe.JfrChunks+": mismatches without a name"], 0)
	require.InDelta(t, 1.0/3, goals["judging in relation to the JVMs' time"], 1e-9)
	for _, table := range s.tables() {
		for _, row := range table.Rows {
			require.Len(t, row, len(table.Columns), table.Title)
		}
	}
}
