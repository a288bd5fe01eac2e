package shadow

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/agent"
	"misstep/recipe"
	"misstep/runner/recording"
)

// A sample in native code, which no signal takes, is judged where its thread did not run: by the shadow that it had all the time,
// and by no rule for what runs between a signal and a safepoint.
func TestSamplesInNativeCodeOfAThreadThatStands(t *testing.T) {
	for name, test := range map[string]struct {
		shadow []uint32
		stack  []string // innermost first
		want   string
	}{
		"the same":               {[]uint32{1, 2}, []string{"b", "a"}, ""},
		"the top is lost":        {[]uint32{1, 2, 3}, []string{"a"}, missing},
		"frames that are gone":   {[]uint32{1}, []string{"c", "b", "a"}, extra},
		"another stack":          {[]uint32{1, 2}, []string{"c", "c"}, foreign},
		"the thread's own depth": {[]uint32{3, 2, 1}, []string{"a", "b", "c"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			before := call(5000, 5050)
			before.Entries, before.Depth = []uint32{1}, 1
			tap := &agent.Tap{
				Signals: [2]uint32{27, 12}, Architecture: "amd64", Calls: []agent.TapCall{before},
				Names: map[uint32]string{1: "C.a()V", 2: "C.b()V", 3: "C.c()V"},
				Clocks: []agent.TapClock{
					{MonotonicNanos: 1, RealtimeNanos: 1, Ticks: 3}, {MonotonicNanos: 1e6, RealtimeNanos: 1e6, Ticks: 3e6},
				},
				Stills: []agent.TapStill{{
					TID: 7, Entries: test.shadow, Depth: uint32(len(test.shadow)),
					SinceNanos: 1e6, UntilNanos: 1e9, SinceTicks: 3e6, UntilTicks: 3e9,
				}},
			}
			j := New(Input{
				Check: recipe.JfrShadow, Source: JFR, Tap: tap, Feature: 25, Limit: 1,
				Methods: []string{"C.a()V", "C.b()V", "C.c()V"},
			})
			require.NoError(t, j.Visit(&recording.Chunk{StartNanos: 1, StartTicks: 1, TicksPerSecond: 1e9}))
			thread := &recording.Thread{OS: 7, Java: 3, Name: "t"}
			for _, e := range []recording.Event{
				{Type: "jdk.CPUTimeSample", StartNanos: 5010, Stack: stackOf("a")},
				{Type: "jdk.NativeMethodSample", StartNanos: 1e8, Stack: inNativeCode(stackOf(test.stack...))},
			} {
				e.Thread = thread
				require.NoError(t, j.Visit(&e))
			}
			v := j.Verdicts()
			require.EqualValues(t, 2, v.Count.GetTotal())
			require.Empty(t, v.Count.GetVoid())
			require.Empty(t, v.Count.GetTolerated())
			if test.want == "" {
				assert.EqualValues(t, 2, v.Count.GetMatch())
				return
			}
			require.Len(t, v.Mismatches, 1)
			assert.Equal(t, test.want, v.Mismatches[0].GetKind())
			j.Instants(func(i Instant) { assert.NotEqual(t, "jdk.NativeMethodSample", i.Sampler, "no handler was called") })
		})
	}
}
