package jfrcheck

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/recipe"
	"misstep/runner/recording"
)

// lacks are the records of a chunk in which a reference of a type has no constant, and so many events come to it.
func lacks(constant, from, field string, touched ...*recording.Touched) []recording.Record {
	place := recording.FaultPlace{Kind: recording.Lacking, Type: constant, From: from, Field: field}
	list := []recording.Record{
		&recording.Link{Type: constant, From: from, Field: field, Referenced: 9, Lacking: 1},
	}
	for _, t := range touched {
		t.Any = []recording.FaultPlace{place}
		if t.Shown != nil {
			t.Shown = t.Any
		}
		list = append(list, t)
	}
	return list
}

func withSamples(list []recording.Record) []recording.Record {
	s := stack(work, mainMethod)
	return append([]recording.Record{chunk(0), event(0, s), event(1, s), event(2, s), event(3, s)}, list...)
}

func TestSeverity(t *testing.T) {
	shown := []recording.FaultPlace{}
	for name, c := range map[string]struct {
		records []recording.Record
		class   string
		touched uint64
	}{
		"a method of a sample": {
			lacks("jdk.types.Method", "jdk.types.StackFrame", "method", &recording.Touched{Event: execution, Events: 2, Shown: shown}),
			TouchesSamples, 2,
		},
		"what a profile does not show of a sample": {
			lacks("jdk.types.Package", "java.lang.Class", "package", &recording.Touched{Event: execution, Events: 2}),
			TouchesEvents, 0,
		},
		"another event": {
			lacks("java.lang.Thread", "jdk.Shutdown", "eventThread", &recording.Touched{Event: "jdk.Shutdown", Events: 1, Shown: shown}),
			TouchesEvents, 0,
		},
		"nothing":           {lacks("jdk.types.Module", "jdk.types.Package", "module"), TouchesBookkeeping, 0},
		"times of an event": {[]recording.Record{&recording.Window{Type: "jdk.GCConfiguration", Events: 1, LastNanos: 10 * second}}, TouchesEvents, 0},
		"times of a sample": {[]recording.Record{&recording.Window{Type: execution, Events: 4, LastNanos: 10 * second}}, TouchesSamples, 1},
		"chunks that overlap": {
			[]recording.Record{&recording.Chunk{
				Index: 1, StartNanos: began + 8*second, DurationNanos: second, StartTicks: 8*second + 1, TicksPerSecond: second,
			}}, TouchesBookkeeping, 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			records := withSamples(c.records)
			if c.class == TouchesSamples && c.touched == 1 {
				records = append(records, event(10*1e9, stack(work)))
			}
			r := run(t, Options{}, records...)
			require.Len(t, r.Faults, 1)
			assert.Equal(t, c.class, r.Faults[0].Touches)
			assert.Equal(t, c.class, r.Class)
			assert.Equal(t, c.touched, r.Touched)
			assert.Equal(t, c.class == TouchesSamples, r.Fails(TouchesSamples))
			assert.True(t, r.Fails(TouchesBookkeeping))
		})
	}
}

// Samples of a chunk that begins before the end of the one before it are out of order; a sample with two faults of constants counts
// once, and a difference that a rule permits does not count.
func TestTouchedSamples(t *testing.T) {
	back := &recording.Chunk{
		Index: 1, StartNanos: began + 8*second, DurationNanos: 9 * second, StartTicks: 8*second + 1, TicksPerSecond: second,
	}
	s := stack(work)
	// The sample from before its chunk, as cooperative sampling writes them, is not in what overlaps.
	r := run(t, Options{}, chunk(0), event(0, s), back, event(7*1e9, s), event(8*1e9, s), event(10*1e9, s))
	assert.EqualValues(t, 1, r.Touched)

	// A recording of three chunks is there twice, the first one without a sample: all that comes again is.
	part := func(index int, start int64) *recording.Chunk {
		return &recording.Chunk{
			Index: index, StartNanos: began + start*second, DurationNanos: second, StartTicks: start*second + 1, TicksPerSecond: second,
		}
	}
	r = run(t, Options{}, part(0, 0), part(1, 2), event(2*1e9, s), part(2, 4), event(4*1e9, s), event(4.5*1e9, s),
		part(3, 0), part(4, 2), event(2*1e9, s), part(5, 4), event(4*1e9, s), event(4.5*1e9, s))
	assert.EqualValues(t, 6, r.Samples)
	assert.EqualValues(t, 3, r.Touched)
	assert.True(t, r.Fails(TouchesSamples))

	one := recording.FaultPlace{Kind: recording.Lacking, Type: "jdk.types.Symbol", From: "jdk.types.Method", Field: "name"}
	two := recording.FaultPlace{Kind: recording.Twice, Type: "java.lang.Thread", Field: "osThreadId"}
	renamed := recording.FaultPlace{Kind: recording.Twice, Type: "java.lang.Thread", Field: "javaName"}
	both, permitted := []recording.FaultPlace{one, two}, []recording.FaultPlace{renamed}
	r = run(t, Options{}, withSamples([]recording.Record{
		&recording.Link{Type: one.Type, From: one.From, Field: one.Field, Referenced: 9, Lacking: 1},
		&recording.Differing{Type: two.Type, Fields: two.Field, IDs: 1},
		&recording.Differing{Type: two.Type, Fields: renamed.Field, IDs: 1},
		&recording.Touched{Event: execution, Events: 3, Any: both, Shown: both},
		&recording.Touched{Event: execution, Events: 1, Any: permitted, Shown: permitted},
	})...)
	assert.EqualValues(t, 3, r.Touched)
	require.Len(t, r.Faults, 2)
	for _, f := range r.Faults {
		assert.Contains(t, []string{recipe.KindUndefinedConstant, recipe.KindDuplicateID}, f.Kind)
		assert.EqualValues(t, 3, f.Samples)
	}
}
