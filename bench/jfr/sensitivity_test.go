package main

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
	"misstep/runner/judge"
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
			altered.BottomDropped, traceOf(compiled, "a", "b", "c", "d", "e", "f"), traceOf(compiled, "a", "b", "c", "d", "e"),
			false, "",
		},
		{altered.MiddleDropped, traceOf(interpreted, "a", "b", "c"), traceOf(interpreted, "a", "c"), true, blindLater},
		{altered.Stale, traceOf(compiled, "a", "b", "c", "d", "e", "f", "g"), traceOf(compiled, "x", "g"), false, blindAlone},
		{altered.Stale, traceOf(compiled, "a", "b", "c", "d", "e", "f", "g"), traceOf(interpreted, "x", "g"), false, ""},
		{altered.MethodRemoved, traceOf(interpreted, "a", "b", "c"), traceOf(interpreted, "a", "c"), false, blindLacking},
	} {
		require.Equal(t, tt.want, blindShadow(tt.class, tt.before, tt.after, instrumented, tt.later), "%s %v", tt.class, tt.before)
	}
}

func TestATraceOfKnownEdgesIsNoFault(t *testing.T) {
	known := map[edge]bool{}
	for e := range edgesOf(traceOf(recording.Compiled, "a", "b", "c")) {
		known[e] = true
	}
	require.Len(t, known, 2)
	require.True(t, allIn(known, traceOf(recording.Compiled, "b", "c")))
	require.False(t, allIn(known, traceOf(recording.Compiled, "a", "c")))
	other := traceOf(recording.Compiled, "b", "c")
	other[1].BCI++
	require.False(t, allIn(known, other), "another call of the same method")
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

// Only more mismatches of the kind that says what was changed count: those that were there before do not.
func TestAChangeOfBytesIsFound(t *testing.T) {
	verdicts := func(n uint64) judge.Verdicts {
		return judge.Verdicts{Mismatches: []*misstepv1.Mismatch{
			{Kind: recipe.KindChunkLayout, Count: 7},
			{Kind: recipe.KindUndefinedConstant, Count: n, RecordingFault: &misstepv1.RecordingFault{Type: "jdk.types.Symbol"}},
		}}
	}
	removed := altered.Bytes{Kind: recipe.KindUndefinedConstant, Type: "jdk.types.Symbol"}
	require.True(t, foundMore(verdicts(1), verdicts(2), removed))
	require.False(t, foundMore(verdicts(2), verdicts(2), removed))
	require.False(t, foundMore(judge.Verdicts{}, verdicts(2), altered.Bytes{Kind: recipe.KindUndefinedConstant, Type: "other"}))
	require.True(t, foundMore(judge.Verdicts{}, verdicts(0), altered.Bytes{}), "any, where none is expected")
}

// A dropped sample of the first thread would be noticed; the second one has calls that left nothing anyway.
func TestAccountsOfCallsAndSamples(t *testing.T) {
	d := account(map[uint32]int{1: 10, 2: 10, 3: 4}, map[uint32]int{1: 7, 2: 9, 4: 1}, map[uint32]int{1: 3})
	require.Equal(t, dropped{Threads: 3, Calls: 20, Samples: 17, Lost: 3, Exact: 7}, d)
}

func TestWhatAStackThatStoodContradicts(t *testing.T) {
	at := func(names string, lines ...int32) (frames []recording.Frame) {
		for i, name := range names {
			m := &recording.Method{Class: "C", Name: string(name), Hidden: name == 'h'}
			frames = append(frames, recording.Frame{Method: m, Line: lines[i]})
		}
		return frames
	}
	before := at("mabh", 9, 1, 2, 3) // of which a, b and h stood
	for _, tt := range []struct {
		after []recording.Frame
		want  bool
	}{
		{at("xabh", 9, 1, 2, 3), false}, // it moved
		{at("mabh", 9, 5, 2, 3), false}, // the innermost line is not known
		{at("mabh", 9, 1, 7, 3), true},
		{at("mabh", 9, 1, 0, 3), false},
		{at("mah", 9, 1, 3), true},
		{at("mab", 9, 1, 2), false}, // hidden
		{at("bh", 2, 3), true},      // the top is lost
		{before, false},
	} {
		require.Equal(t, tt.want, contradicted(before, tt.after, 3), "%v", tt.after)
	}
}
