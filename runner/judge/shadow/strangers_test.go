package shadow

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/agent"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
	"misstep/runner/recording"
)

// judgeOne judges one sample of a thread whose only other call is the given one.
func judgeOne(
	t *testing.T, walker string, thread *recording.Thread, other agent.TapCall, stack *recording.Stack,
) *misstepv1.CheckCount {
	at := call(1000, 1050)
	at.Shadow = false
	later := call(5000, 5050)
	later.Shadow = other.Shadow
	tap := &agent.Tap{
		Signals: [2]uint32{27}, Architecture: "amd64", Calls: []agent.TapCall{at, later},
		Clocks: []agent.TapClock{{MonotonicNanos: 1, RealtimeNanos: 1, Ticks: 3}, {MonotonicNanos: 1e6, RealtimeNanos: 1e6, Ticks: 3e6}},
	}
	j := New(Input{Check: recipe.ProfilerShadow, Source: AsyncProfiler, Walker: walker, Tap: tap, Feature: 17, Limit: 1})
	require.NoError(t, j.Visit(&recording.Chunk{StartNanos: 1, StartTicks: 1, TicksPerSecond: 1e9}))
	thread.OS = int64(at.TID)
	require.NoError(t, j.Visit(&recording.Event{Type: "jdk.ExecutionSample", StartNanos: 1010, Thread: thread, Stack: stack}))
	v := j.Verdicts()
	require.EqualValues(t, 1, v.Count.GetTotal())
	require.Len(t, v.Mismatches, int(v.Count.GetMismatch()))
	return v.Count
}

// A thread that nobody has ever seen run Java has no frame of Java. Whatever else has no shadow is not judged.
func TestThreadsThatNeverRunJava(t *testing.T) {
	native := inNativeCode(&recording.Stack{})
	java := inNativeCode(stackOf("a"))
	compiler, library, started := "C2 CompilerThre", "libfoo", agent.TapCall{Shadow: true}
	const match, mismatch, void = "match", "mismatch", "void"
	for name, test := range map[string]struct {
		walker string
		thread recording.Thread
		other  agent.TapCall
		stack  *recording.Stack
		want   string
	}{
		"native frames":                     {"vm", recording.Thread{Name: compiler}, agent.TapCall{}, native, match},
		"AsyncGetCallTrace, which has none": {"no", recording.Thread{Name: compiler}, agent.TapCall{}, native, match},
		"a thread of a library":             {"vm", recording.Thread{Name: library}, agent.TapCall{}, native, match},
		"frames of Java":                    {"vm", recording.Thread{Name: compiler}, agent.TapCall{}, java, mismatch},
		"the same, of a library's thread":   {"vm", recording.Thread{Name: library}, agent.TapCall{}, java, void},
		"a compiler that is Java":           {"vm", recording.Thread{Name: "JVMCI CompilerT"}, agent.TapCall{}, java, void},
		"a thread of Java of that name":     {"vm", recording.Thread{Name: compiler, Java: 9}, agent.TapCall{}, java, void},
		"it may have lost its frames":       {"vm", recording.Thread{Name: compiler, Java: 9}, agent.TapCall{}, native, void},
		"one that runs Java later":          {"vm", recording.Thread{Name: library}, started, native, void},
		"without a name":                    {"vm", recording.Thread{}, agent.TapCall{}, native, void},
	} {
		t.Run(name, func(t *testing.T) {
			count := judgeOne(t, test.walker, &test.thread, test.other, test.stack)
			got := map[string]uint64{match: count.GetMatch(), mismatch: count.GetMismatch(), void: count.GetVoid()[voidShadow]}
			assert.EqualValues(t, 1, got[test.want], count)
		})
	}
}
