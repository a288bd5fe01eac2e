package main

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"misstep/runner/judge/altered"
	"misstep/runner/recording"
)

func traceOf(kind recording.FrameKind, names ...string) (frames []recording.Frame) {
	for _, name := range names {
		m := &recording.Method{Class: "a.C", Name: name, Descriptor: "()V"}
		frames = append(frames, recording.Frame{Method: m, Kind: kind})
	}
	return frames
}

func TestWhatTheShadowCannotContradict(t *testing.T) {
	instrumented := map[string]bool{}
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "<init>"} {
		instrumented["a/C."+name+"()V"] = true
	}
	const interpreted, compiled = recording.Interpreted, recording.Compiled
	for _, tt := range []struct {
		class         string
		before, after []recording.Frame
		later         bool
		want          string
	}{
		{altered.MiddleDropped, traceOf(interpreted, "a", "b", "c"), traceOf(interpreted, "a", "c"), false, ""},
		{altered.MiddleDropped, traceOf(interpreted, "a", "x", "c"), traceOf(interpreted, "a", "c"), false, blindNoEntry},
		{altered.MiddleDropped, traceOf(interpreted, "a", "<init>", "c"), traceOf(interpreted, "a", "c"), false, blindNoEntry},
		{altered.TopDropped, traceOf(interpreted, "a", "b", "c"), traceOf(interpreted, "b", "c"), false, blindTop},
		{altered.MiddleDropped, traceOf(compiled, "a", "b", "c"), traceOf(compiled, "a", "c"), false, blindInlined},
		{
			altered.BottomDropped, traceOf(compiled, "a", "b", "c", "d", "e", "f"), traceOf(compiled, "a", "b", "c", "d", "e"), false, "",
		},
		{altered.MiddleDropped, traceOf(interpreted, "a", "b", "c"), traceOf(interpreted, "a", "c"), true, blindLater},
		{altered.MethodRemoved, traceOf(interpreted, "a", "b", "c"), traceOf(interpreted, "a", "c"), false, blindLacking},
	} {
		require.Equal(t, tt.want, blindShadow(tt.class, tt.before, tt.after, instrumented, tt.later), "%s %v", tt.class, tt.before)
	}
}

func TestFaultsAreCounted(t *testing.T) {
	s := &sensitivity{}
	c := s.cell(altered.MiddleDropped, "jfr-shadow")
	for range 150 {
		c.count("", true, false, "")
	}
	c.count("", false, false, "tolerated x")
	c.count(blindTop, true, false, "")
	c.count(blindTop, false, false, "match")
	c.count(blindTop, false, true, "")
	s.cell(altered.TopDropped, "event-edges").count(blindEdges, false, false, "match")
	s.cell(altered.WrongBCI, "event-edges").count("", true, false, "")
	require.Same(t, c, s.cell(altered.MiddleDropped, "jfr-shadow"))
	require.Equal(t, [2]uint64{2, 1}, *c.Blind[blindTop])
	require.EqualValues(t, 1, c.Void)
	require.EqualValues(t, 151, c.Visible)
	require.Equal(t, map[string]uint64{"tolerated x": 1}, c.Missed)
	goals := s.goals()
	require.Len(t, goals, 2, "a class that is never visible has no goal")
	require.True(t, math.IsNaN(goals[0].Measured), "one fault is no proof")
	require.InDelta(t, 100*150.0/151, goals[1].Measured, 1e-9)
	for _, table := range s.tables() {
		for _, row := range table.Rows {
			require.Len(t, row, len(table.Columns))
		}
	}
}

// A dropped sample of the first thread would be noticed; the second one has calls that left nothing anyway.
func TestAccountsOfCallsAndSamples(t *testing.T) {
	d := account(map[uint32]int{1: 10, 2: 10, 3: 4}, map[uint32]int{1: 7, 2: 9, 4: 1}, map[uint32]int{1: 3})
	require.Equal(t, dropped{Threads: 3, Calls: 20, Samples: 17, Lost: 3, Exact: 7}, d)
}
