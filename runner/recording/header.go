package recording

import (
	"bytes"
	"encoding/binary"
)

// headerBytes is the size of a chunk's header.
const headerBytes = 68

var chunkMagic = []byte("FLR\x00")

// Flags of a chunk.
const (
	compressedIntegers = 1
	lastChunk          = 2
)

// header is that of a chunk, as HotSpot's jfrChunkWriter.cpp writes it: 68 bytes, big-endian.
type header struct {
	major uint16
	// size of the chunk with its header; of what was flushed while the chunk is open.
	size int64
	// constants and metadata are the offsets of the last checkpoint and of the metadata event in the chunk.
	constants, metadata        int64
	startNanos, durationNanos  int64
	startTicks, ticksPerSecond int64
	// state is 0 when the chunk is finished, else a generation that each flush increments, or 255 while the header is written.
	state, flags uint8
}

// plain reports whether the integers of the chunk are not compressed; those of the header never are.
func (h *header) plain() bool { return h.flags&compressedIntegers == 0 }

// walk begins at the first event of a chunk.
func (h *header) walk(data []byte) eventWalk {
	return eventWalk{data: data, next: headerBytes, plain: h.plain()}
}

// begins reports whether a chunk begins with the bytes.
func begins(data []byte) bool { return bytes.HasPrefix(data, chunkMagic) }

// readHeader reads a header, of which there are all bytes.
func readHeader(data []byte) header {
	long := func(at int) int64 { return int64(binary.BigEndian.Uint64(data[at:])) }
	return header{
		major: binary.BigEndian.Uint16(data[4:]), size: long(8), constants: long(16), metadata: long(24), startNanos: long(32),
		durationNanos: long(40), startTicks: long(48), ticksPerSecond: long(56), state: data[64], flags: data[67],
	}
}

// salvage makes a readable chunk of the beginning of one: up to its last complete event, with the last metadata and checkpoint
// before it. JFR writes both at each flush, once a second by default (JDK 14 and later), so that at most the events after the last
// one lack constants. It returns the size, 0 if there is no metadata in what is left.
func (h *header) salvage(data []byte) int {
	metadata, constants := 0, 0
	events := h.walk(data)
	for events.advance() {
		switch events.kind {
		case metadataEvent:
			metadata = events.position
		case checkpointEvent:
			constants = events.position
		}
	}
	if metadata == 0 {
		return 0
	}
	h.size, h.constants, h.metadata = int64(events.next), int64(constants), int64(metadata)
	return events.next
}

// The events that are none of a program.
const (
	metadataEvent   = 0
	checkpointEvent = 1
)

// eventWalk goes from event to event of a chunk by their sizes, without looking into them.
type eventWalk struct {
	data  []byte
	next  int
	plain bool
	// Of the event.
	position, contents int
	kind               uint64
}

// advance goes to the next event; false where none is complete.
func (w *eventWalk) advance() bool {
	w.position = w.next
	c := cursor{data: w.data, at: w.position, plain: w.plain}
	size := c.integer(intBytes)
	w.kind = c.long()
	w.contents = c.at
	if c.err != nil || size < uint64(c.at-w.position) || size > uint64(len(w.data)-w.position) {
		return false
	}
	w.next = w.position + int(size)
	return true
}
