package chunks_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"misstep/recipe"
	"misstep/runner/judge/chunks"
	"misstep/runner/recording"
)

// A Java event that was being written at the rotation ended before its chunk: one of a thread, and only Java's.
func TestOnlyTheEventInFlightMayBeEarly(t *testing.T) {
	type event struct {
		name   string
		thread uint64
		// end in nanoseconds after the chunk's start.
		end int64
	}
	for name, tt := range map[string]struct {
		events              []event
		typeName            string
		tolerated, mismatch uint64
	}{
		"one":             {[]event{{"jdk.FileRead", 1, -9}, {"jdk.FileRead", 1, 5}}, "jdk.FileRead", 1, 0},
		"two threads":     {[]event{{"jdk.FileRead", 1, -9}, {"jdk.FileRead", 2, -7}}, "jdk.FileRead", 1, 0},
		"two of a thread": {[]event{{"jdk.FileRead", 1, -9}, {"jdk.FileRead", 1, -7}}, "jdk.FileRead", 0, 1},
		"of two types":    {[]event{{"jdk.FileRead", 1, -9}, {"jdk.JavaExceptionThrow", 1, -7}}, "jdk.FileRead", 0, 1},
		"one too many": {
			[]event{{"jdk.FileRead", 1, -9}, {"jdk.FileRead", 2, -9}, {"jdk.FileRead", 2, -8}}, "jdk.FileRead", 0, 1,
		},
		"a program's":     {[]event{{"org.example.Order", 1, -9}}, "org.example.Order", 1, 0},
		"HotSpot's":       {[]event{{"jdk.JavaMonitorEnter", 1, -9}}, "jdk.JavaMonitorEnter", 0, 1},
		"without a stack": {nil, "jdk.ActiveSetting", 0, 1},
		"of another type": {[]event{{"jdk.FileWrite", 1, -9}}, "jdk.FileRead", 0, 1},
	} {
		window := &recording.Window{Type: tt.typeName, Events: 5, FirstNanos: -9, LastNanos: 5}
		at := chunk(1)
		var events []recording.Record
		for _, e := range tt.events {
			events = append(events, &recording.Event{
				Type: e.name, Thread: &recording.Thread{Constant: e.thread},
				StartNanos: at.StartNanos + e.end - 3, DurationNanos: 3,
			})
		}
		// Neither the order within the chunk nor a chunk before or after it matters.
		for order, records := range map[string][]recording.Record{
			"events first": append(append([]recording.Record{chunk(0), at}, events...), window),
			"window first": append([]recording.Record{chunk(0), at, window}, events...),
			"more chunks":  append(append([]recording.Record{chunk(0), at, window}, events...), chunk(2)),
		} {
			v := judged(t, 10, records...)
			require.Equal(t, tt.tolerated, v.Count.GetTolerated()[recipe.RuleEndedBeforeRotation], "%s, %s", name, order)
			require.Equal(t, tt.mismatch, v.Count.GetMismatch(), "%s, %s", name, order)
			for _, m := range v.Mismatches {
				require.Equal(t, recipe.KindEventTime, m.GetKind())
				require.Equal(t, uint32(1), m.GetRecordingFault().GetChunk(), "%s, %s", name, order)
			}
		}
	}
}

// A fault of async-profiler's recordings is not taken for one of JFR's.
func TestTheWriterIsPartOfThePlace(t *testing.T) {
	j := chunks.New(10, recipe.ProfilerAsync)
	for _, r := range append([]recording.Record{chunk(0)}, lacking(1)...) {
		require.NoError(t, j.Visit(r))
	}
	v := j.Verdicts()
	require.Len(t, v.Mismatches, 1)
	require.Equal(t, "async-profiler's jdk.ThreadEnd", v.Mismatches[0].GetRecordingFault().GetReferrer())
	require.EqualValues(t, 23, v.Mismatches[0].GetRecordingFault().GetId())
}

// What a flush leaves out is a fault of an emergency dump only in the chunk that has the reason of the dump.
func TestEmergencyDump(t *testing.T) {
	module := func() []recording.Record {
		return []recording.Record{
			&recording.Link{Type: "jdk.types.Module", From: "jdk.ModuleRequire", Field: "source", Referenced: 9, Lacking: 2},
			&recording.Fault{Kind: recording.Lacking, Type: "jdk.types.Module", ID: 5, From: "jdk.ModuleRequire", Field: "source"},
		}
	}
	reason := &recording.Window{Type: "jdk.DumpReason", Events: 1, FirstNanos: 1, LastNanos: 1}
	records := append(append([]recording.Record{chunk(0)}, module()...), chunk(1))
	records = append(append(append(records, module()...), lacking(1)...), reason)
	counts := map[string]uint64{}
	for _, m := range judged(t, 10, records...).Mismatches {
		f := m.GetRecordingFault()
		counts[f.GetReferrer()+" "+string(rune('0'+f.GetChunk()))] = m.GetCount()
		require.NotZero(t, f.GetId())
	}
	require.Equal(t, map[string]uint64{
		"jdk.ModuleRequire 0": 2, "an emergency dump's jdk.ModuleRequire 1": 2, "jdk.ThreadEnd 1": 1,
	}, counts)
}
