package jfrcheck

import (
	"math"
	"strings"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
	"misstep/runner/judge/chunks"
	"misstep/runner/recording"
)

// What a fault touches, the worst first.
const (
	// TouchesSamples: what the profile is made of, the samples' stacks, threads and times.
	TouchesSamples = "samples"
	// TouchesEvents: other events, or what a profile does not show of samples.
	TouchesEvents = "events"
	// TouchesBookkeeping: constants to which no event comes, and the headers of chunks.
	TouchesBookkeeping = "bookkeeping"
)

// Touches are the classes, the worst first.
var Touches = []string{TouchesSamples, TouchesEvents, TouchesBookkeeping}

// reach is how many events come to a fault.
type reach struct{ samples, events uint64 }

func (r reach) class() string {
	switch {
	case r.samples > 0:
		return TouchesSamples
	case r.events > 0:
		return TouchesEvents
	}
	return TouchesBookkeeping
}

// severity counts the events that each fault of a recording touches, by the references from them to the faulty constants, and by
// their times.
type severity struct {
	places map[recording.FaultPlace]reach
	// early and late count the samples of a type that ended outside of their chunk.
	early, late map[string]uint64
	// overlapped are the samples of their chunk's time before the end of the chunk before; untimed those of a chunk whose own times
	// are impossible, or which does not begin after those before it.
	overlapped, untimed uint64
	chunk               *recording.Chunk
	previous            *recording.Chunk
	// clocks are those of the chunks until now, at most mostClocks. again says that the chunk at hand does not begin after all
	// others of its clock: recordings that overlap, or one that is there twice, were joined.
	clocks     []clock
	again      bool
	unfinished bool
	touched    uint64
	faulty     uint64 // samples with a frame that cannot be
	verdicts   map[*recording.Stack]bool
}

// clock is one by which chunks were written, and the newest tick at which one of them began.
type clock struct {
	origin float64
	newest int64
}

const mostClocks = 64

// joined reports whether a chunk does not begin after all others of its clock.
func (s *severity) joined(c *recording.Chunk) bool {
	if c.TicksPerSecond <= 0 {
		return false
	}
	for i, k := range s.clocks {
		if math.Abs(k.origin-chunks.Origin(c)) <= chunks.SameClock {
			s.clocks[i].newest = max(k.newest, c.StartTicks)
			return c.StartTicks <= k.newest
		}
	}
	if len(s.clocks) < mostClocks {
		s.clocks = append(s.clocks, clock{chunks.Origin(c), c.StartTicks})
	}
	return false
}

func newSeverity() *severity {
	return &severity{
		places: map[recording.FaultPlace]reach{}, early: map[string]uint64{}, late: map[string]uint64{},
		verdicts: map[*recording.Stack]bool{},
	}
}

// Visit takes a record.
func (s *severity) Visit(r recording.Record) {
	switch r := r.(type) {
	case *recording.Chunk:
		s.previous, s.chunk, s.unfinished, s.again = s.chunk, r, false, s.joined(r)
		clear(s.verdicts)
	case *recording.Problem:
		s.unfinished = s.unfinished || r.Kind == recording.CutFile || r.Kind == recording.Unfinished
	case *recording.Touched:
		s.reached(r)
	case *recording.Event:
		if s.chunk != nil && samplerTypes[r.Type] {
			s.timed(r)
			s.framed(r)
		}
	}
}

// reached takes how many events come to the same faults.
func (s *severity) reached(t *recording.Touched) {
	events := uint64(max(t.Events, 0))
	sampler := samplerTypes[t.Event]
	judged := false
	for _, place := range t.Any {
		n := s.places[place]
		n.events += events
		s.places[place] = n
	}
	if !sampler {
		return
	}
	for _, place := range t.Shown {
		n := s.places[place]
		n.events -= events
		n.samples += events
		s.places[place] = n
		judged = judged || s.judged(place)
	}
	if judged {
		s.touched += events
	}
}

// judged reports whether the check of chunks calls such a constant wrong.
func (s *severity) judged(place recording.FaultPlace) bool {
	if place.Kind == recording.Twice {
		return !chunks.MayDiffer(&recording.Differing{Type: place.Type, Fields: place.Field})
	}
	return !s.unfinished
}

// timed notes a sample whose time is not one of its chunk.
func (s *severity) timed(e *recording.Event) {
	c, p := s.chunk, s.previous
	end := e.StartNanos + e.DurationNanos
	switch {
	case s.again || c.TicksPerSecond <= 0 || c.StartNanos <= 0 || c.DurationNanos < 0 || p != nil && c.StartTicks <= p.StartTicks:
		s.untimed++
	case end < c.StartNanos:
		s.early[e.Type]++
	case end > c.StartNanos+c.DurationNanos:
		s.late[e.Type]++
	}
	if p != nil && e.StartNanos >= c.StartNanos && e.StartNanos < p.StartNanos+p.DurationNanos {
		s.overlapped++
	}
}

// framed notes a sample with a frame that cannot be.
func (s *severity) framed(e *recording.Event) {
	if e.Stack == nil {
		return
	}
	wrong, known := s.verdicts[e.Stack]
	if !known {
		wrong = verdictOf(e.Stack).kind != ""
		s.verdicts[e.Stack] = wrong
	}
	if wrong {
		s.faulty++
	}
}

// of returns what a fault of the check of chunks touches.
func (s *severity) of(m *misstepv1.Mismatch) reach {
	f := m.GetRecordingFault()
	from := strings.TrimPrefix(strings.TrimPrefix(f.GetReferrer(), chunks.AsyncWriter), chunks.EmergencyDump)
	switch m.GetKind() {
	case recipe.KindUndefinedConstant:
		return s.places[recording.FaultPlace{Kind: recording.Lacking, Type: f.GetType(), From: from, Field: f.GetField()}]
	case recipe.KindDuplicateID:
		return s.places[recording.FaultPlace{Kind: recording.Twice, Type: f.GetType(), Field: f.GetField()}]
	case recipe.KindEventTime:
		if samplerTypes[f.GetType()] {
			outside := s.early
			if f.GetField() == chunks.SideAfter {
				outside = s.late
			}
			return reach{samples: max(outside[f.GetType()], 1)}
		}
		return reach{events: m.GetCount()}
	case recipe.KindChunkOrder:
		if f.GetField() == chunks.StartBack {
			return reach{samples: s.overlapped}
		}
		return reach{samples: s.untimed}
	}
	return reach{}
}

// spoilt is the number of samples that the faults of a recording touch. Those of its constants are counted once each; a sample that
// has a fault of another kind as well is counted again, so that it is at most so many.
func (s *severity) spoilt(list []*misstepv1.Mismatch) uint64 {
	n := s.touched + s.faulty
	for _, m := range list {
		if kind := m.GetKind(); kind == recipe.KindEventTime || kind == recipe.KindChunkOrder {
			n = saturated(n, s.of(m).samples)
		}
	}
	return n
}

func saturated(a, b uint64) uint64 {
	if a > math.MaxUint64-b {
		return math.MaxUint64
	}
	return a + b
}
