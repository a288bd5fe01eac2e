package jfrcheck

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
	"misstep/runner/recording"
)

// fakeReader gives the same records for each file.
type fakeReader struct {
	records []recording.Record
	summary recording.Summary
	err     error
	files   []string
}

func (f *fakeReader) Read(
	_ context.Context, file string, _ recording.Limits, visit func(recording.Record) error,
) (recording.Summary, error) {
	f.files = append(f.files, file)
	for _, r := range f.records {
		if err := visit(r); err != nil {
			return f.summary, err
		}
	}
	return f.summary, f.err
}

const (
	second    = int64(time.Second)
	began     = 1_700_000_000 * second
	execution = "jdk.ExecutionSample"
)

func chunk(index int) *recording.Chunk {
	return &recording.Chunk{
		Index: index, Offset: int64(index) * 1000, Bytes: 1000, StartNanos: began + int64(index)*10*second, DurationNanos: 9 * second,
		StartTicks: int64(index)*10*second + 1, TicksPerSecond: second,
	}
}

func method(class, name string, modifiers uint32) *recording.Method {
	return &recording.Method{Class: class, Name: name, Descriptor: "()V", Modifiers: modifiers}
}

var (
	mainThread = &recording.Thread{Java: 1, OS: 11, Name: "main"}
	mainMethod = method("p.Main", "main", 9)
	work       = method("p.Main", "work", 9)
	idle       = method("p.Main", "idle", 9)
)

// stack of methods, innermost first; main stands at index 5.
func stack(methods ...*recording.Method) *recording.Stack {
	s := &recording.Stack{}
	for _, m := range methods {
		s.Frames = append(s.Frames, recording.Frame{Method: m, BCI: 5, Line: 7, Kind: recording.Compiled})
	}
	return s
}

func event(at time.Duration, s *recording.Stack) *recording.Event {
	return &recording.Event{Type: execution, StartNanos: began + int64(at), Thread: mainThread, Stack: s, State: "STATE_RUNNABLE"}
}

func recordingFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.jfr")
	require.NoError(t, os.WriteFile(path, []byte("FLR\x00 and so on"), 0o600))
	return path
}

func run(t *testing.T, o Options, records ...recording.Record) *Report {
	t.Helper()
	o.Files, o.MaxBytes, o.Top = []string{recordingFile(t)}, 1<<20, 10
	reader := &fakeReader{records: records, summary: recording.Summary{Events: int64(len(records))}}
	r, failed, err := Run(t.Context(), reader.Read, o)
	require.NoError(t, err)
	require.Empty(t, failed)
	return r
}

func checkOf(t *testing.T, r *Report, name string) Check {
	t.Helper()
	for _, c := range r.Checks {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("the report lacks the check %s", name)
	return Check{}
}

func TestRecordingWithoutFaults(t *testing.T) {
	s := stack(work, mainMethod)
	r := run(t, Options{}, chunk(0), event(0, s), event(20*time.Millisecond, s), event(40*time.Millisecond, s), chunk(1))
	assert.False(t, r.Fails(TouchesBookkeeping))
	assert.True(t, r.proved())
	assert.Empty(t, r.Doubts)
	assert.EqualValues(t, 6, checkOf(t, r, framesCheck).Right)
	assert.EqualValues(t, 3, checkOf(t, r, sitesCheck).Right)
	assert.NotEmpty(t, checkOf(t, r, recipe.EventEdges).Skipped)
	require.Len(t, r.Samplers, 1)
	assert.EqualValues(t, 3, r.Samplers[0].Samples)
	assert.InEpsilon(t, 20*time.Millisecond, r.Samplers[0].Median, 0.05)
	require.Len(t, r.Threads, 1)
	assert.Equal(t, Group{"main", Counts{Samples: 3}}, r.Threads[0].Group)
	assert.InEpsilon(t, 20*time.Millisecond, r.Threads[0].Median, 0.05)
	assert.Equal(t, []Group{{"p.Main.work", Counts{Samples: 3}}}, r.Methods)
	require.Len(t, r.Recordings, 1)
	assert.Equal(t, 19*time.Second, r.Recordings[0].End.Sub(r.Recordings[0].Begin))
}

func TestSamplesThatAreNotWhole(t *testing.T) {
	cut := stack(work)
	cut.Truncated = true
	failed := event(0, nil)
	failed.Type, failed.Failed, failed.Biased = "jdk.CPUTimeSample", recording.True, recording.True
	r := run(t, Options{}, chunk(0), event(0, cut), event(1, stack(nil, mainMethod)), event(2, nil), failed,
		&recording.Lost{Thread: mainThread, Samples: 4}, &recording.Setting{Type: execution, Name: "period", Value: "20 ms"})
	require.Len(t, r.Samplers, 2)
	assert.Equal(t, Counts{Samples: 1, Empty: 1, Failed: 1, Biased: 1, Lost: 4}, r.Samplers[0].Counts)
	assert.Equal(t, Counts{Samples: 3, Empty: 1, Truncated: 1, Unknown: 1}, r.Samplers[1].Counts)
	assert.Equal(t, "20 ms", r.Samplers[1].Asked)
	all := Counts{Samples: 4, Empty: 2, Truncated: 1, Unknown: 1, Failed: 1, Biased: 1, Lost: 4}
	require.Len(t, r.Threads, 1)
	assert.Equal(t, Group{"main", all}, r.Threads[0].Group)
	assert.InDelta(t, 7.0/8, r.Threads[0].Unusable(), 1e-9)
	assert.Contains(t, r.Methods, Group{noMethod, Counts{Samples: 2, Empty: 2, Failed: 1, Biased: 1}})
	assert.False(t, r.Fails(TouchesBookkeeping), "what is lost is not wrong")
}

func TestFramesThatCannotBe(t *testing.T) {
	far := stack(work, mainMethod)
	far.Frames[1].BCI = 70_000
	r := run(t, Options{}, chunk(0),
		event(0, stack(method("p.Shape", "area", accAbstract), mainMethod)), event(1, far), event(2, far))
	require.Len(t, r.Faults, 2)
	assert.Equal(t, Fault{
		Check: framesCheck, Kind: kindRange, Place: "p.Main.main", Count: 2, Touches: TouchesSamples, Samples: 2, Sampler: execution, Profiler: "jfr",
		Detail: "bytecode index 70000", Stack: []string{"p.Main.work @ 5", "p.Main.main @ 70000"},
	}, r.Faults[0])
	assert.Equal(t, kindAbstract, r.Faults[1].Kind)
	assert.EqualValues(t, 3, checkOf(t, r, framesCheck).Wrong)
	assert.True(t, r.Fails(TouchesBookkeeping))
}

func TestCallSitesThatContradict(t *testing.T) {
	records := []recording.Record{chunk(0)}
	for i := range 40 {
		records = append(records, event(time.Duration(i), stack(work, mainMethod)))
	}
	rare := event(100, stack(idle, mainMethod))
	upcall := event(101, stack(method("p.Lazy", "<clinit>", 8), mainMethod))
	r := run(t, Options{}, append(records, rare, upcall)...)
	require.Len(t, r.Doubts, 1)
	assert.Equal(t, Fault{
		Check: sitesCheck, Kind: kindContradiction, Place: "p.Main.main @ 5 calls idle", Count: 1, Sampler: execution,
		Detail: "40 of 41 samples have work there", Stack: []string{"p.Main.idle @ 5", "p.Main.main @ 5"},
	}, r.Doubts[0])
	assert.False(t, r.Fails(TouchesBookkeeping), "a doubt is not wrong for certain")

	handle := event(102, stack(method("java.lang.invoke.LambdaForm$MH", "invoke", 8), mainMethod))
	assert.Empty(t, run(t, Options{}, append(records, rare, handle)...).Doubts, "a method handle leads anywhere")
	assert.Empty(t, run(t, Options{}, append(records[:10], rare)...).Doubts, "too few samples to say")
}

func TestFaultsOfChunks(t *testing.T) {
	r := run(t, Options{}, chunk(0),
		&recording.Link{Type: "jdk.types.Method", From: "jdk.types.StackFrame", Field: "method", Referenced: 10, Lacking: 3})
	require.Len(t, r.Faults, 1)
	f := r.Faults[0]
	assert.Equal(t, recipe.JfrChunks, f.Check)
	assert.EqualValues(t, 3, f.Count)
	assert.Equal(t, "jdk.types.Method in jdk.types.StackFrame.method", f.Place)
}

func TestRecordingThatIsCut(t *testing.T) {
	cut := &recording.Problem{Chunk: 1, Offset: 1234, Message: "the file ends", Kind: recording.CutFile}
	r := run(t, Options{}, chunk(0), chunk(1), cut)
	assert.Equal(t, []Problem{{1, 1234, "the file ends"}}, r.Recordings[0].Problems)
	assert.False(t, r.Fails(TouchesBookkeeping))
}

// Of several files those that cannot be read do not keep the others from being checked.
func TestFilesThatCannotBeRead(t *testing.T) {
	old := &fakeReader{records: []recording.Record{&recording.Problem{Offset: 7, Message: "format 0", Kind: recording.Layout}}}
	_, failed, err := Run(t.Context(), old.Read, Options{Files: []string{recordingFile(t)}, MaxBytes: 1 << 20})
	require.NoError(t, err)
	require.Len(t, failed, 1)
	require.ErrorIs(t, failed[0], ErrUnreadable)
	require.ErrorContains(t, failed[0], "offset 7: format 0")

	_, failed, err = Run(t.Context(), old.Read, Options{Files: []string{"/absent", t.TempDir()}, MaxBytes: 1 << 20})
	require.NoError(t, err)
	require.Len(t, failed, 2)
	require.ErrorIs(t, failed[0], os.ErrNotExist)

	half := &fakeReader{records: []recording.Record{chunk(0)}, err: errors.New("the helper died")}
	r, failed, err := Run(t.Context(), half.Read, Options{Files: []string{recordingFile(t)}, MaxBytes: 1 << 20})
	require.NoError(t, err)
	require.Empty(t, failed)
	assert.Equal(t, "the helper died", r.Recordings[0].Incomplete)

	_, _, err = Run(t.Context(), half.Read, Options{ClassPath: "/absent"})
	require.ErrorContains(t, err, "class path")
}

func TestMostFrequentGroups(t *testing.T) {
	groups := map[string]*Counts{"a": {Samples: 1}, "b": {Samples: 5}, "c": {Samples: 2, Lost: 9}, "d": {Samples: 1, Empty: 1}}
	assert.Equal(t, []Group{
		{"c", Counts{Samples: 2, Lost: 9}}, {"b", Counts{Samples: 5}}, {others, Counts{Samples: 2, Empty: 1}},
	}, topGroups(groups, 2))
}

// async-profiler writes intervals in nanoseconds, and its version as a setting of the recording.
func TestRecordingOfAsyncProfiler(t *testing.T) {
	r := run(t, Options{}, chunk(0), event(0, stack(work, mainMethod)),
		&recording.Setting{Type: "jdk.ActiveRecording", Name: "version", Value: "4.1"},
		&recording.Setting{Type: execution, Name: "interval", Value: "2000000"})
	assert.Equal(t, recipe.ProfilerAsync, r.Recordings[0].Profiler)
	assert.Equal(t, "2ms", r.Samplers[0].Asked)
	r = run(t, Options{}, chunk(0), event(0, stack(work, mainMethod)),
		&recording.Setting{Type: "jdk.ActiveRecording", Name: "enabled", Value: "true"})
	assert.Equal(t, recipe.ProfilerJFR, r.Recordings[0].Profiler)
}

// Faults of async-profiler's recordings are not taken for JFR's, and have the labels of its own bugs.
func TestFaultsOfAsyncProfiler(t *testing.T) {
	for _, c := range []struct{ typeName, from, field, byJFR, byAsync string }{
		{"java.lang.Thread", "jdk.ThreadEnd", "thread", "JDK-8287699", ""},
		{"jdk.types.Package", "java.lang.Class", "package", "", "MISSTEP-async-profiler-no-package"},
	} {
		records := []recording.Record{
			chunk(0), jvm("17.0.15+6-Debian-1"),
			&recording.Link{Type: c.typeName, From: c.from, Field: c.field, Referenced: 3, Lacking: 1},
		}
		r := run(t, Options{}, records...)
		require.Len(t, r.Faults, 1)
		assert.Equal(t, c.byJFR, r.Faults[0].Known)
		assert.Equal(t, c.typeName+" in "+c.from+"."+c.field, r.Faults[0].Place)
		r = run(t, Options{}, append(records, &recording.Setting{Type: "jdk.ActiveRecording", Name: "version", Value: "4.1"})...)
		require.Len(t, r.Faults, 1)
		assert.Equal(t, c.byAsync, r.Faults[0].Known)
		assert.Equal(t, c.typeName+" in async-profiler's "+c.from+"."+c.field, r.Faults[0].Place)
	}
}

func TestPlacesOfFaults(t *testing.T) {
	for want, f := range map[string]*misstepv1.RecordingFault{
		"java.lang.Thread in jdk.ThreadEnd.thread": {Type: "java.lang.Thread", Referrer: "jdk.ThreadEnd", Field: "thread"},
		"jdk.ThreadEnd before its chunk":           {Type: "jdk.ThreadEnd", Field: "before"},
		"jdk.types.Symbol in string":               {Type: "jdk.types.Symbol", Field: "string"},
		"jdk.types.Symbol":                         {Type: "jdk.types.Symbol"},
		"frequency":                                {Field: "frequency"},
	} {
		assert.Equal(t, want, placeOf(f))
	}
}
