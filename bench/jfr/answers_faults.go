package main

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"slices"

	"misstep/app/jfrcheck"
)

// The methods of Answers.java on which samples are, and on which only other events are.
const (
	sampledMethod = "spinsForTheProfile"
	sleepMethod   = "sleepsForTheEvents"
)

// answerFault is a fault that is put into a recording, with what it touches by its construction.
type answerFault struct {
	class string
	// touches is what the fault touches in a recording of which another reader saw that, empty where it has no room for it.
	touches func(s witness) string
	// put changes the chunks, and reports whether they had what it changes.
	put func(r *rand.Rand, chunks [][]byte, s witness) bool
}

// Offsets of a chunk's header (HotSpot jfrChunkWriter.cpp), and its size.
const (
	startAt, durationAt, answerHeader = 32, 40, 68
)

var answerFaults = []answerFault{
	{"the name of a sampled method is not defined", func(s witness) string {
		return classIf(s.on[sampledMethod] > 0, jfrcheck.TouchesSamples)
	}, func(_ *rand.Rand, chunks [][]byte, _ witness) bool { return undefine(chunks, sampledMethod) }},
	{"the name of a method of other events is not defined", func(s witness) string {
		return classIf(s.on[sleepMethod] == 0 && s.events[sleepMethod] > 0, jfrcheck.TouchesEvents)
	}, func(_ *rand.Rand, chunks [][]byte, _ witness) bool { return undefine(chunks, sleepMethod) }},
	{"the times of a chunk end before its last samples", func(s witness) string {
		return classIf(len(s.ends) > 1, jfrcheck.TouchesSamples)
	}, func(_ *rand.Rand, chunks [][]byte, s witness) bool {
		// Ten milliseconds before the last sample: farther than clocks part.
		const before = 10_000_000
		duration := slices.Max(s.ends) - int64(binary.BigEndian.Uint64(chunks[0][startAt:])) - before
		if duration <= 0 {
			return false
		}
		binary.BigEndian.PutUint64(chunks[0][durationAt:], uint64(duration))
		return true
	}},
	{"a chunk ends a nanosecond after the next one begins", func(witness) string {
		return jfrcheck.TouchesBookkeeping
	}, func(_ *rand.Rand, chunks [][]byte, _ witness) bool {
		if len(chunks) < 2 {
			return false
		}
		start := func(c []byte) int64 { return int64(binary.BigEndian.Uint64(c[startAt:])) }
		const millisecond, rounding = 1_000_000, 256
		if (start(chunks[0])+rounding)%millisecond <= 2*rounding { // the clock of before JDK 14, which may go back
			return false
		}
		binary.BigEndian.PutUint64(chunks[0][durationAt:], uint64(start(chunks[1])-start(chunks[0])+1))
		return true
	}},
}

func classIf(has bool, class string) string {
	if has {
		return class
	}
	return ""
}

// undefine gives each definition of a symbol another id, and reports whether there is any. A symbol is its id, the encoding, the
// length and the text. Where the id would become that of another symbol nothing more is changed.
func undefine(chunks [][]byte, text string) bool {
	const utf8 = 3
	written := append([]byte{utf8, byte(len(text))}, text...)
	found := false
	for _, chunk := range chunks {
		for from := answerHeader; ; {
			at := bytes.Index(chunk[from:], written)
			if at < 0 {
				break
			}
			last := from + at - 1 // the last byte of the id; those before it have the bit that says that more follow
			changed := []byte{chunk[last-1], chunk[last] ^ 0x40, utf8}
			if chunk[last-1]&0x80 == 0 || bytes.Contains(chunk, changed) { // an id of one byte, or one that others end like
				return false
			}
			chunk[last] ^= 0x40
			found = true
			from += at + len(written)
		}
	}
	return found
}
