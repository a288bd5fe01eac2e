package tapped

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/agent"
	"misstep/runner/recording"
)

// call is a call of thread 7's handler of signal 27.
func call(begin, end uint64) agent.TapCall {
	return agent.TapCall{
		TID: 7, Signal: 27, BeginNanos: begin, EndNanos: end, BeginTicks: 3 * begin, EndTicks: 3 * end, Shadow: true,
	}
}

func at(ticks int64) *Event {
	return &Event{Event: &recording.Event{Type: "jdk.CPUTimeSample"}, TID: 7, signal: 27, ticks: ticks}
}

// matched returns for each event the beginning of its call, or why it has none.
func matched(calls []agent.TapCall, events ...*Event) (out []any) {
	for _, f := range match(callsOf(&agent.Tap{Calls: calls}), events, monotonic, 0) {
		if f.Call == nil {
			out = append(out, f.Why)
			continue
		}
		out = append(out, int(f.Call.BeginNanos))
	}
	return out
}

func TestAnEventBelongsToTheCallInWhichItWasTaken(t *testing.T) {
	calls := []agent.TapCall{call(100, 110), call(200, 210)}
	other := at(105)
	other.TID = 8
	suspend := at(105)
	suspend.signal = 12
	for name, test := range map[string]struct {
		calls  []agent.TapCall
		events []*Event
		want   []any
	}{
		"in the window, its ends included": {calls, []*Event{at(100), at(210)}, []any{100, 200}},
		"next to a window":                 {calls, []*Event{at(99), at(111), at(150)}, []any{noSignal, noSignal, noSignal}},
		"another thread, another signal":   {calls, []*Event{other, suspend}, []any{noSignal, noSignal}},
		"no calls":                         {nil, []*Event{at(100)}, []any{noSignal}},
		"two events in one call":           {calls, []*Event{at(101), at(102), at(201)}, []any{ambiguous, ambiguous, 200}},
		"two calls overlap": {
			[]agent.TapCall{call(100, 110), call(105, 120)},
			[]*Event{at(104), at(107), at(115)},
			[]any{100, ambiguous, 105},
		},
		"the lost call's event is not its neighbour's": {calls, []*Event{at(160)}, []any{noSignal}},
		"a call that did not return may have taken any later event": {
			[]agent.TapCall{call(100, 110), call(200, 0)}, []*Event{at(105), at(250)}, []any{100, ambiguous},
		},
		"a thread id used again": {
			[]agent.TapCall{call(100, 110), call(1_000_100, 1_000_110)}, []*Event{at(1_000_105), at(105)}, []any{1_000_100, 100},
		},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, test.want, matched(test.calls, test.events...)) })
	}
}

// HotSpot resumes a thread by the signal that suspended it: its handler runs inside the first one.
func TestACallInsideAnotherIsNoneOfItsOwn(t *testing.T) {
	resume := call(150, 152)
	resume.Nested = 1
	assert.Equal(t, []any{100, noSignal}, matched([]agent.TapCall{call(100, 160), resume}, at(151), at(161)))
	resume.Signal = 12 // another signal's handler inside it takes samples itself
	sample := at(151)
	sample.signal = 12
	assert.Equal(t, []any{150}, matched([]agent.TapCall{call(100, 160), resume}, sample))
}

// rig is a tap with a call each millisecond or so, and the events that lie in them on a recording's clock that begins at zero
// ticks.
func rig(seed uint64, n int, zero uint64, k clock) (*agent.Tap, []*Event, []uint64) {
	random := rand.New(rand.NewPCG(seed, 1))
	tap := &agent.Tap{Signals: [2]uint32{27, 12}}
	var events []*Event
	var begins []uint64
	chunk := &recording.Chunk{TicksPerSecond: 3e9}
	if k.begin(&agent.TapCall{BeginNanos: 1}) == 1 {
		chunk.TicksPerSecond = 1e9
	}
	now := uint64(5e12)
	for range n {
		now += 500_000 + random.Uint64N(1_000_000)
		c := call(now, now+1_000+random.Uint64N(20_000))
		tap.Calls = append(tap.Calls, c)
		inside := k.begin(&c) + int64(random.Uint64N(uint64(k.end(&c)-k.begin(&c))))
		e := at(inside - int64(zero))
		e.chunk = chunk
		events = append(events, e)
		begins = append(begins, c.BeginNanos)
	}
	const epoch = 1_700_000_000_000_000_000
	for _, m := range []uint64{5e12, now} {
		tap.Clocks = append(tap.Clocks, agent.TapClock{MonotonicNanos: m, RealtimeNanos: m + epoch, Ticks: 3 * m})
	}
	// The header says when its ticks were zero, 12 ms late: the JVM was interrupted between its two clocks.
	chunk.StartNanos = epoch + int64(float64(zero)/k.perNano(tap)) + 12_000_000
	return tap, events, begins
}

// The offset between the clocks is found although the chunk's header is wrong by twelve samples, and all events find their calls.
func TestTheClocksAreFoundByWhatWasRecorded(t *testing.T) {
	for name, k := range map[string]clock{"counter": counter, "monotonic": monotonic} {
		t.Run(name, func(t *testing.T) {
			tap, events, begins := rig(3, 500, 777_777_777, k)
			j := New(tap, false)
			j.Events = events
			clock, offset, share := j.clock()
			require.InDelta(t, 1, share, 0)
			require.InDelta(t, 777_777_777, offset, 2_000)
			found := match(j.calls, events, clock, offset)
			right := 0
			for i, f := range found {
				if f.Call != nil {
					require.Equal(t, begins[i], f.Call.BeginNanos)
					right++
				}
			}
			require.Greater(t, right, 490)
		})
	}
}

// A third of the calls is lost, and a third of the events has none: what is matched is matched rightly.
func TestLostCallsDoNotLeadAstray(t *testing.T) {
	tap, events, begins := rig(4, 900, 123_456, monotonic)
	kept := tap.Calls[:0]
	for i, c := range tap.Calls {
		if i%3 != 0 {
			kept = append(kept, c)
		}
	}
	tap.Calls = kept
	j := New(tap, false)
	j.Events = events
	k, offset, _ := j.clock()
	voids := 0
	for i, f := range match(j.calls, events, k, offset) {
		if f.Call == nil {
			voids++
			continue
		}
		require.Equal(t, begins[i], f.Call.BeginNanos)
	}
	require.InDelta(t, 300, voids, 10)
}

// Events that have nothing to do with the calls are void: whatever offset is best, it is not good.
func TestClocksThatDoNotFitAreVoid(t *testing.T) {
	tap, events, _ := rig(5, 400, 99, monotonic)
	random := rand.New(rand.NewPCG(5, 5))
	for _, e := range events {
		e.ticks += int64(random.Uint64N(40_000_000)) - 20_000_000
	}
	j := New(tap, false)
	j.Events = events
	for _, f := range j.Match() {
		assert.Nil(t, f.Call)
		assert.Contains(t, []string{noSignal, ambiguous, NoClock}, f.Why)
	}
}

func TestInstantKeepsTheTicksOfLongRecordings(t *testing.T) {
	c := &recording.Chunk{StartNanos: 1_700_000_000_000_000_000, StartTicks: 1 << 50, TicksPerSecond: 2_999_999_999}
	day := int64(86_400_000_000_000)
	assert.Equal(t, int64(1<<50)+86_400*2_999_999_999, instant(c, c.StartNanos+day))
	assert.Equal(t, int64(1<<50)-2_999_999_999, instant(c, c.StartNanos-1_000_000_000))
}

func TestCallsAreOrdered(t *testing.T) {
	list := callsOf(&agent.Tap{Calls: []agent.TapCall{call(300, 310), call(100, 110), call(200, 210)}}).of(7, 27)
	assert.True(t, slices.IsSortedFunc(list, func(a, b *agent.TapCall) int { return int(a.BeginNanos) - int(b.BeginNanos) }))
}
