package jfrcheck

import (
	"sort"

	"misstep/runner/recording"
)

// recordingStarts tells which recording an event is of, by its number among the events of all.
type recordingStarts struct {
	events uint64
	last   int      // the index of the latest chunk
	before []uint64 // the events before each recording
}

func (s *recordingStarts) chunk(c *recording.Chunk) {
	if len(s.before) == 0 || c.Index == 0 || c.Index <= s.last {
		s.before = append(s.before, s.events)
	}
	s.last = c.Index
}

// of returns the index of the recording that has the event of a number, which is 1 for the first; -1 for none.
func (s *recordingStarts) of(number uint64) int {
	return sort.Search(len(s.before), func(i int) bool { return s.before[i] >= number }) - 1
}
