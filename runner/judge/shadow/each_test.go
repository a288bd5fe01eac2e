package shadow

import (
	"cmp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"misstep/agent"
	"misstep/recipe"
	"misstep/runner/judge/tapped"
	"misstep/runner/recording"
)

// call is a call of thread 7's handler of signal 27.
func call(begin, end uint64) agent.TapCall {
	return agent.TapCall{
		TID: 7, Signal: 27, BeginNanos: begin, EndNanos: end, BeginTicks: 3 * begin, EndTicks: 3 * end, Shadow: true,
	}
}

// stackOf is a recorded stack of methods of the class C, top first, all at an index behind the push.
func stackOf(names ...string) *recording.Stack {
	s := &recording.Stack{}
	for _, name := range names {
		m := &recording.Method{Class: "C", Name: name, Descriptor: "()V"}
		s.Frames = append(s.Frames, recording.Frame{Method: m, BCI: 50, Kind: recording.Interpreted})
	}
	return s
}

// One call of the handler after the other, each with the shadow a b c: what the recording has of it, and what AsyncGetCallTrace
// answered, are judged apart, and a call without a sample is given, too.
func TestTwoWalkersOfOneInstantAreJudgedApart(t *testing.T) {
	tap := &agent.Tap{
		Signals: [2]uint32{27}, Architecture: "amd64",
		Names:   map[uint32]string{1: "C.a()V", 2: "C.b()V", 3: "C.c()V"},
		Methods: map[uint32]string{1: "C.a()V", 2: "C.b()V", 3: "C.c()V"},
		Clocks:  []agent.TapClock{{MonotonicNanos: 1, RealtimeNanos: 1, Ticks: 3}, {MonotonicNanos: 1e6, RealtimeNanos: 1e6, Ticks: 3e6}},
	}
	whole := []agent.TapFrame{{Method: 3, BCI: 50}, {Method: 2, BCI: 50}, {Method: 1, BCI: 50}}
	add := func(begin uint64, result int32, frames ...agent.TapFrame) {
		c := call(begin, begin+50)
		c.Depth, c.Entries, c.PC, c.TopState = 3, []uint32{1, 2, 3}, 77, "interpreted"
		c.Walked, c.Result, c.Frames = result != 0, result, frames
		tap.Calls = append(tap.Calls, c)
	}
	add(1000, 3, whole...)
	add(2000, 1, whole[0])     // cut off
	add(3000, -5)              // gave up
	add(4000, 0)               // not asked
	add(5000, 3, whole...)     // without a sample
	add(6000, 1, whole[2])     // the top is lost
	add(7000, 2, whole[1:]...) // one of three, on top
	j := New(Input{Check: recipe.ProfilerShadow, Source: AsyncProfiler, Walker: "vm", Tap: tap, Feature: 17})
	require.NoError(t, j.Visit(&recording.Chunk{StartNanos: 1, StartTicks: 1, TicksPerSecond: 1e9}))
	for nanos, stack := range map[int64]*recording.Stack{
		1010: stackOf("c", "b", "a"), 2010: stackOf("c", "b", "a"), 3010: inNativeCode(stackOf("c")), 4010: stackOf("c", "b", "a"),
		6010: stackOf("c", "b", "a"), 7010: stackOf("c", "b", "a"),
	} {
		require.NoError(t, j.Visit(&recording.Event{
			Type: "jdk.ExecutionSample", StartNanos: nanos, Thread: &recording.Thread{OS: 7}, Stack: stack,
		}))
	}
	var all []Instant
	j.Instants(func(i Instant) { all = append(all, i) })
	slices.SortFunc(all, func(a, b Instant) int { return cmp.Compare(a.Call.BeginNanos, b.Call.BeginNanos) })
	require.Len(t, all, 7)
	for i, want := range []struct{ sampler, sampled, walked string }{
		{"vm", "", ""},
		{"vm", "", "truncated"},
		{"vm", "truncated", "gave up"},
		{"vm", "", "not asked"},
		{"", "", ""},
		{"vm", "", "missing"},
		{"vm", "", ruleTop},
	} {
		at := all[i]
		require.Equal(t, want.sampler, at.Sampler, i)
		require.Equal(t, want.sampled, word(&at.Sampled), i)
		require.Equal(t, want.walked, word(at.Walked), i)
		if m := at.Sampled.Mismatch; m != nil {
			require.Equal(t, recipe.ProfilerShadow, m.GetCheck())
			require.Len(t, m.GetSuspect().GetFrames(), 1, "without the native frame")
			require.Equal(t, "vm", m.GetSuspect().GetSampler())
		}
		if at.Walked != nil && at.Walked.Mismatch != nil {
			m := at.Walked.Mismatch
			require.Equal(t, recipe.AsgctShadow, m.GetCheck())
			require.EqualValues(t, 77, m.GetPc())
			require.Len(t, m.GetReference().GetFrames(), 3)
			require.Len(t, m.GetSuspect().GetFrames(), 1)
		}
	}
}

// Where no trace of a thread matched, one that ends at a method which the VM calls was cut off there; of another one the bottom is
// taken for the thread's.
func TestATraceThatEndsAtAnUpcallIsCutOff(t *testing.T) {
	loadClass := recording.Method{
		Class: "java.lang.ClassLoader", Name: "loadClass", Descriptor: "(Ljava/lang/String;)Ljava/lang/Class;",
	}
	main := recording.Method{Class: "C", Name: "x", Descriptor: "()V"}
	for want, bottom := range map[string]*recording.Method{"truncated": &loadClass, "missing": &main} {
		c := call(1000, 1050)
		c.Depth, c.Entries, c.TopState = 2, []uint32{1, 2}, "interpreted"
		j := New(Input{Check: recipe.ProfilerShadow, Source: AsyncProfiler, Walker: "vm", Feature: 28, Tap: &agent.Tap{
			Signals: [2]uint32{27}, Architecture: "amd64", Names: map[uint32]string{1: "C.a()V", 2: "C.b()V"},
			Methods: map[uint32]string{1: "C.a()V", 2: "C.b()V"}, Calls: []agent.TapCall{c},
			Clocks: []agent.TapClock{
				{MonotonicNanos: 1, RealtimeNanos: 1, Ticks: 3}, {MonotonicNanos: 1e6, RealtimeNanos: 1e6, Ticks: 3e6},
			},
		}})
		require.NoError(t, j.Visit(&recording.Chunk{StartNanos: 1, StartTicks: 1, TicksPerSecond: 1e9}))
		stack := stackOf("m", "n")
		stack.Frames = append(stack.Frames, recording.Frame{Method: bottom, BCI: 3, Kind: recording.Interpreted})
		require.NoError(t, j.Visit(&recording.Event{
			Type: "jdk.ExecutionSample", StartNanos: 1010, Thread: &recording.Thread{OS: 7}, Stack: stack,
		}))
		j.Instants(func(i Instant) { require.Equal(t, want, word(&i.Sampled), bottom.Name) })
		require.EqualValues(t, 1, j.Verdicts().Count.GetMismatch())
	}
}

// inNativeCode puts a native frame on top.
func inNativeCode(s *recording.Stack) *recording.Stack {
	native := recording.Frame{Method: &recording.Method{Class: "libc.so", Name: "read"}, Kind: recording.Native}
	s.Frames = append([]recording.Frame{native}, s.Frames...)
	return s
}

// word says what a finding is.
func word(f *Finding) string {
	switch {
	case f == nil:
		return "not asked"
	case f.Unwalkable:
		return "gave up"
	}
	return f.Rule + f.Void + f.Mismatch.GetKind()
}

// async-profiler's own walkers write the index 0 for a caller that was deoptimised during its call, and the compiled method alone.
// At index 0 of other walkers, or of interpreted code, nothing was pushed yet.
func TestACallerThatWasDeoptimisedHasNoIndex(t *testing.T) {
	const jit, c1, interpreted, inlined = recording.Compiled, recording.UnknownFrame, recording.Interpreted, recording.Inlined
	tap := &agent.Tap{
		Signals: [2]uint32{27}, Architecture: "amd64",
		Names:   map[uint32]string{1: "C.a()V", 2: "C.b()V", 3: "C.c()V", 4: "C.d()V"},
		Methods: map[uint32]string{1: "C.a()V", 2: "C.b()V", 3: "C.c()V", 4: "C.d()V"},
		Clocks:  []agent.TapClock{{MonotonicNanos: 1, RealtimeNanos: 1, Ticks: 3}, {MonotonicNanos: 1e6, RealtimeNanos: 1e6, Ticks: 3e6}},
	}
	c := call(1000, 1050)
	c.Depth, c.Entries, c.PC, c.TopState = 4, []uint32{1, 2, 3, 4}, 77, "interpreted"
	c.Walked, c.Result = true, 4
	c.Frames = []agent.TapFrame{{Method: 4, BCI: 50}, {Method: 3, BCI: 50}, {Method: 2}, {Method: 1, BCI: 50}}
	tap.Calls = append(tap.Calls, c)
	deoptimised := func(kind recording.FrameKind, names ...string) *recording.Stack {
		s := stackOf(names...)
		for i := range s.Frames {
			if f := &s.Frames[i]; f.Method.Name == "b" {
				f.BCI, f.Kind = 0, kind
			}
		}
		return s
	}
	for name, test := range map[string]struct {
		source Source
		walker string
		stack  *recording.Stack
		want   string
	}{
		"compiled by C2":                   {AsyncProfiler, "vm", deoptimised(jit, "d", "c", "b", "a"), ruleIndexless},
		"compiled by C1":                   {AsyncProfiler, "vmx", deoptimised(c1, "d", "c", "b", "a"), ruleIndexless},
		"its inlined callee is lost":       {AsyncProfiler, "vm", deoptimised(jit, "d", "b", "a"), missing},
		"wrong below it":                   {AsyncProfiler, "vm", deoptimised(jit, "d", "c", "b", "c"), truncated},
		"twice":                            {AsyncProfiler, "vm", deoptimised(jit, "d", "c", "b", "b", "a"), foreign},
		"inlined, which has a record":      {AsyncProfiler, "vm", deoptimised(inlined, "d", "c", "b", "a"), foreign},
		"interpreted":                      {AsyncProfiler, "vm", deoptimised(interpreted, "d", "c", "b", "a"), foreign},
		"a walker that cannot get so far":  {AsyncProfiler, "no", deoptimised(jit, "d", "c", "b", "a"), foreign},
		"JFR, which knows the frame's own": {JFR, "", deoptimised(jit, "d", "c", "b", "a"), foreign},
	} {
		t.Run(name, func(t *testing.T) {
			j := New(Input{Check: recipe.ProfilerShadow, Source: test.source, Walker: test.walker, Tap: tap, Feature: 17, Limit: 1})
			if test.source == JFR {
				tap.Signals = [2]uint32{12, 27}
				defer func() { tap.Signals = [2]uint32{27} }()
			}
			require.NoError(t, j.Visit(&recording.Chunk{StartNanos: 1, StartTicks: 1, TicksPerSecond: 1e9}))
			require.NoError(t, j.Visit(&recording.Event{
				Type: "jdk.ExecutionSample", StartNanos: 1010, Thread: &recording.Thread{OS: 7}, Stack: test.stack,
			}))
			var all []Instant
			j.Instants(func(i Instant) { all = append(all, i) })
			require.Len(t, all, 1)
			require.Equal(t, test.want, word(&all[0].Sampled))
			require.Equal(t, foreign, word(all[0].Walked), "AsyncGetCallTrace knows the index or goes no further")
		})
	}
}

// async-profiler names a method that was unloaded before it wrote the recording "stale_jmethodID", in no class: it is a frame.
func TestAMethodThatWasUnloadedIsAFrameWithoutAName(t *testing.T) {
	tap := &agent.Tap{
		Signals: [2]uint32{27}, Architecture: "amd64", Names: map[uint32]string{1: "C.a()V", 2: "C.b()V", 3: "C.c()V"},
		Clocks: []agent.TapClock{{MonotonicNanos: 1, RealtimeNanos: 1, Ticks: 3}, {MonotonicNanos: 1e6, RealtimeNanos: 1e6, Ticks: 3e6}},
	}
	c := call(1000, 1050)
	c.Depth, c.Entries = 3, []uint32{1, 2, 3}
	tap.Calls = append(tap.Calls, c)
	for name, rule := range map[string]string{"stale_jmethodID": ruleNameless, "a_stub": ""} {
		j := New(Input{Check: recipe.ProfilerShadow, Source: AsyncProfiler, Walker: "vm", Tap: tap, Feature: 17, Limit: 1})
		require.NoError(t, j.Visit(&recording.Chunk{StartNanos: 1, StartTicks: 1, TicksPerSecond: 1e9}))
		s := stackOf("c", "b", "a")
		s.Frames[1].Method = &recording.Method{Name: name, Descriptor: "()L;"}
		s.Frames[1].Kind = recording.Native
		require.NoError(t, j.Visit(&recording.Event{
			Type: "jdk.ExecutionSample", StartNanos: 1010, Thread: &recording.Thread{OS: 7}, Stack: s,
		}))
		v := j.Verdicts()
		require.Equal(t, rule != "", v.Count.GetTolerated()[ruleNameless] == 1, name)
		require.Equal(t, rule == "", v.Count.GetMismatch() == 1, name)
	}
}

// Frames of JFR say that they are inlined from some JDK on, those of async-profiler on each.
func TestFramesOfOneKind(t *testing.T) {
	for source, want := range map[Source]map[int]bool{
		JFR:           {8: true, 11: true, 17: false, 25: false},
		AsyncProfiler: {8: false, 17: false},
	} {
		for feature, one := range want {
			j := New(Input{Tap: &agent.Tap{}, Source: source, Walker: "vm", Feature: feature})
			event := &recording.Event{Stack: &recording.Stack{Frames: []recording.Frame{{Method: &recording.Method{Name: "a"}}}}}
			s := j.sample(event, tapped.Found{Call: &agent.TapCall{Shadow: true}})
			require.NotNil(t, s.sample)
			require.Equal(t, one, s.oneKind, "%s %d", source, feature)
		}
	}
}
