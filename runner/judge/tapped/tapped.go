// Package tapped finds for each sample of a recording the call of the sampler's signal handler in which it was taken, as the
// agent's tap noted it.
package tapped

import (
	"misstep/agent"
	"misstep/runner/recording"
)

// Samples are those of one trial's recordings. They are for one goroutine.
type Samples struct {
	tap   *agent.Tap
	async bool
	calls calls
	chunk *recording.Chunk
	// Events are the samples, in their order.
	Events []*Event
}

// Event is a sample of a recording.
type Event struct {
	*recording.Event
	TID    uint32
	signal uint32 // whose handler takes it, 0 for none
	chunk  *recording.Chunk
	ticks  int64
}

// New returns samples of which there are none yet. async says that async-profiler recorded them, and not JFR.
func New(tap *agent.Tap, async bool) *Samples {
	return &Samples{tap: tap, async: async, calls: callsOf(tap)}
}

// Visit takes one record, and reports whether it is a sample.
func (s *Samples) Visit(r recording.Record) bool {
	switch r := r.(type) {
	case *recording.Chunk:
		s.chunk = r
	case *recording.Event:
		signal, taken := s.signalOf(r.Type)
		if !taken || s.chunk == nil {
			return false
		}
		e := &Event{Event: r, signal: signal, chunk: s.chunk, ticks: instant(s.chunk, r.StartNanos)}
		if r.Thread != nil {
			e.TID = uint32(r.Thread.OS)
		}
		s.Events = append(s.Events, e)
		return true
	}
	return false
}

// signalOf returns the signal whose handler takes the samples of an event's type, 0 where no signal is sent; taken reports whether
// they are samples of the recording's profiler.
func (s *Samples) signalOf(kind string) (signal uint32, taken bool) {
	prof, suspend := s.tap.Signals[0], s.tap.Signals[1]
	switch {
	case s.async:
		return prof, kind == "jdk.ExecutionSample"
	case kind == "jdk.CPUTimeSample":
		return prof, true
	case kind == "jdk.ExecutionSample":
		return suspend, true
	}
	return 0, kind == "jdk.NativeMethodSample"
}

// Calls gives all calls, those of one thread and signal in the order of their beginning. One inside another of the same signal is
// left out.
func (s *Samples) Calls(use func(*agent.TapCall)) {
	for _, list := range s.calls {
		for _, c := range list {
			use(c)
		}
	}
}

const (
	// reachNanos is how far the time in a chunk's header may be from the truth: the JVM reads its two clocks one after the other.
	reachNanos = 50e6
	// mostVoters bounds the events that are asked for the offset between the clocks.
	mostVoters = 4096
	// leastShare of the events must lie in a call, or the offset is no good.
	leastShare = 0.5
)

// Match returns for each of Events its call, or why it has none.
func (s *Samples) Match() []Found {
	k, offset, share := s.clock()
	out, stills := match(s.calls, s.Events, k, offset), stillsOf(s.tap)
	for i, f := range out {
		switch {
		case f.Call != nil && share < leastShare:
			out[i] = Found{Why: NoClock}
		case s.Events[i].signal == 0 && share >= leastShare:
			out[i] = standing(stills, k, s.Events[i], offset)
		}
	}
	return out
}

// clock chooses the clock of the recording and the offset between its zero and the tap's; share is that of the events which then
// lie in a call.
func (s *Samples) clock() (k clock, offset int64, share float64) {
	voters := s.Events
	if len(voters) > mostVoters {
		voters = nil
		for i := range mostVoters {
			voters = append(voters, s.Events[i*len(s.Events)/mostVoters])
		}
	}
	share = -1
	for _, candidate := range []clock{counter, monotonic} {
		guesses := map[*recording.Chunk]int64{}
		guess := func(e *Event) int64 {
			g, seen := guesses[e.chunk]
			if !seen {
				g = candidate.atRealtime(s.tap, e.chunk.StartNanos) - e.chunk.StartTicks
				guesses[e.chunk] = g
			}
			return g
		}
		at, of := candidate.zero(s.calls, voters, guess, int64(reachNanos*candidate.perNano(s.tap)))
		if of > share {
			k, offset, share = candidate, at, of
		}
	}
	return k, offset, share
}
