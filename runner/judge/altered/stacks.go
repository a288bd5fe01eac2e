package altered

import (
	"math/rand/v2"
	"slices"

	"misstep/runner/recording"
)

// Classes of faults that give an event the whole trace of another one.
const (
	Stale         = "the sample before"
	OtherThread   = "another thread's"
	StacksSwapped = "stack swapped with another constant"
	OtherEpoch    = "stack of the same id in another chunk"
)

// Replacements are the classes of Replace.
var Replacements = []string{Stale, OtherThread, StacksSwapped, OtherEpoch}

// Recorded has the events of one type in a recording, with their chunks, in the order of their time.
type Recorded struct {
	events []placed
	at     map[*recording.Event]int
	chunks map[int][]*recording.Stack
	byID   map[chunkID]*recording.Stack
}

type placed struct {
	*recording.Event
	chunk int
}

type chunkID struct {
	chunk int
	id    uint64
}

// Index collects what has a trace and a thread among the records of one recording.
func Index(records []recording.Record) *Recorded {
	r := &Recorded{
		at: map[*recording.Event]int{}, chunks: map[int][]*recording.Stack{}, byID: map[chunkID]*recording.Stack{},
	}
	chunk := 0
	for _, record := range records {
		switch e := record.(type) {
		case *recording.Chunk:
			chunk = e.Index
		case *recording.Event:
			if e.Stack == nil || e.Thread == nil || len(e.Stack.Frames) == 0 {
				continue
			}
			r.events = append(r.events, placed{e, chunk})
			if id := (chunkID{chunk, e.Stack.Constant}); r.byID[id] == nil {
				r.byID[id] = e.Stack
				r.chunks[chunk] = append(r.chunks[chunk], e.Stack)
			}
		}
	}
	slices.SortStableFunc(r.events, func(a, b placed) int { return int(a.StartNanos - b.StartNanos) })
	for i, e := range r.events {
		r.at[e.Event] = i
	}
	return r
}

// Replace returns the stack that an event gets by a fault of a class, nil where there is none: no earlier event of its type and
// thread, no other thread, no other stack in the chunk, no other chunk with that id.
func (r *Recorded) Replace(random *rand.Rand, class string, of *recording.Event) *recording.Stack {
	at, known := r.at[of]
	if !known {
		return nil
	}
	e := r.events[at]
	switch class {
	case Stale, OtherThread:
		for _, other := range slices.Backward(r.events[:at]) {
			if other.Type == e.Type && (other.Thread.OS == e.Thread.OS) == (class == Stale) {
				return other.Stack
			}
		}
	case StacksSwapped:
		if all := r.chunks[e.chunk]; len(all) > 1 {
			for {
				if s := all[random.IntN(len(all))]; s != e.Stack {
					return s
				}
			}
		}
	case OtherEpoch:
		for chunk := range r.chunks {
			if s := r.byID[chunkID{chunk, e.Stack.Constant}]; s != nil && chunk != e.chunk {
				return s
			}
		}
	}
	return nil
}
