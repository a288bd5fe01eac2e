package tapped

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/agent"
	"misstep/runner/recording"
)

// A sample that no signal took has the shadow of its thread where that did not run around it.
func TestASampleOfAThreadThatStandsHasItsShadow(t *testing.T) {
	const millis = 1_000_000
	for name, test := range map[string]struct {
		tid  uint32
		at   int64 // milliseconds after the first of the still times begins
		want uint32
		why  string
	}{
		"in it":                   {7, 50, 1, ""},
		"in the longer of two":    {7, 150, 1, ""},
		"in the next one":         {7, 350, 2, ""},
		"right after its begin":   {7, 0, 0, noSignal},
		"shortly before its end":  {7, 190, 0, noSignal},
		"between them":            {7, 250, 0, noSignal},
		"before them":             {7, -5, 0, noSignal},
		"in that of another":      {8, 50, 0, noSignal},
		"after all of them, long": {7, 900, 0, noSignal},
	} {
		t.Run(name, func(t *testing.T) {
			tap, events, _ := rig(6, 200, 4_242, counter)
			begin := tap.Calls[10].BeginNanos
			still := func(since, until uint64, entry uint32) agent.TapStill {
				since, until = begin+since*millis, begin+until*millis
				return agent.TapStill{
					TID: 7, Entries: []uint32{entry}, Depth: 1,
					SinceNanos: since, UntilNanos: until, SinceTicks: 3 * since, UntilTicks: 3 * until,
				}
			}
			tap.Stills = []agent.TapStill{still(300, 400, 2), still(0, 100, 1), still(0, 200, 1)}
			native := &Event{
				Event: &recording.Event{Type: "jdk.NativeMethodSample"}, TID: test.tid, chunk: events[0].chunk,
				ticks: 3*(int64(begin)+test.at*millis) - 4_242,
			}
			s := New(tap, false)
			s.Events = append(events, native)
			found := s.Match()
			got := found[len(found)-1]
			assert.Equal(t, test.why, got.Why)
			if test.want == 0 {
				require.Nil(t, got.Call)
				return
			}
			require.True(t, got.Stand)
			assert.Equal(t, []uint32{test.want}, got.Call.Entries)
			assert.True(t, got.Call.Shadow)
		})
	}
}

// Where the clocks are not known, no still time is right.
func TestStillTimesNeedTheClocks(t *testing.T) {
	tap := &agent.Tap{Stills: []agent.TapStill{{TID: 7, UntilNanos: 1e12, UntilTicks: 3e12}}}
	s := New(tap, false)
	native := &recording.Event{Type: "jdk.NativeMethodSample"}
	s.Events = []*Event{{Event: native, TID: 7, ticks: 1e11, chunk: &recording.Chunk{TicksPerSecond: 1e9}}}
	assert.Equal(t, Found{Why: noSignal}, s.Match()[0])
}
