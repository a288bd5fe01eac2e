package recording

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
)

// mostMessage bounds the text of a problem, which is one line of a report and may quote what the recording says.
const mostMessage = 300

// file is a recording that is read one chunk at a time, so that a broken chunk does not take the others with it.
type file struct {
	in      io.ReaderAt
	size    int64
	limits  Limits
	visit   func(Record) error
	summary Summary
	index   int
	buffer  []byte
	common
	// What the metadata of the chunk at hand describe, and of some before.
	*described
	known []*described
}

// Parse reads a recording and calls visit with each record, in the order of the recording's chunks and of the events in them (which
// is not that of time). It keeps what one chunk refers to. A broken recording is no error: its faults are Problems, and a broken
// chunk lacks what there is to say at its end (Link, Pool, Window). An error means that the file cannot be read or that it took too
// long, or it is visit's.
func Parse(ctx context.Context, path string, limits Limits, visit func(Record) error) (Summary, error) {
	limits = limits.orDefaults()
	in, err := os.Open(path)
	if err != nil {
		return Summary{}, fmt.Errorf("read the recording: %w", err)
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return Summary{}, fmt.Errorf("read the recording: %w", err)
	}
	limited, cancel := context.WithTimeoutCause(ctx, limits.Time, errTime)
	defer cancel()
	summary, err := parse(limited, in, info.Size(), limits, visit)
	if err == nil && errors.Is(context.Cause(limited), errTime) {
		err = fmt.Errorf("read %s: it took more than %v: %w", path, limits.Time, context.DeadlineExceeded)
	}
	return summary, cmp.Or(err, ctx.Err())
}

var errTime = errors.New("the time for reading is over")

// parse reads a recording of so many bytes.
func parse(ctx context.Context, in io.ReaderAt, size int64, limits Limits, visit func(Record) error) (Summary, error) {
	f := &file{
		in: in, size: size, limits: limits, visit: visit, common: newCommon(),
		summary: Summary{Complete: true, Types: map[string]int64{}},
	}
	err := f.read(ctx)
	return f.summary, err
}

func (f *file) read(ctx context.Context) error {
	if f.size == 0 {
		return f.problem(CutFile, 0, "the file is empty")
	}
	for offset := int64(0); offset < f.size && ctx.Err() == nil; f.index++ {
		if offset >= f.limits.Bytes {
			f.summary.Complete = false
			break
		}
		size, err := f.chunk(ctx, offset)
		if err != nil {
			return err
		}
		if size == 0 {
			break
		}
		offset += size
	}
	return nil
}

// chunk reads the chunk at an offset; it returns its size in the file, 0 when no other can follow.
func (f *file) chunk(ctx context.Context, offset int64) (int64, error) {
	left := f.size - offset
	head := make([]byte, min(left, headerBytes))
	if _, err := f.in.ReadAt(head, offset); err != nil {
		return 0, fmt.Errorf("read the recording: %w", err)
	}
	if !begins(head) {
		return 0, f.problem(Layout, offset, "no chunk begins here: the file has %d more bytes", left)
	}
	if left < headerBytes {
		return 0, f.problem(CutFile, offset, "the file ends in the header of the chunk")
	}
	h := readHeader(head)
	if h.major != 1 && h.major != 2 {
		older := ""
		if h.major == 0 {
			older = ", JDK 7 and 8 before 8u262 write 0"
		}
		return 0, f.problem(Layout, offset, "the format of the chunk has version %d; known are 1 and 2%s", h.major, older)
	}
	declared, cut := h.size, h.size > left || h.size < headerBytes
	size := declared
	if cut {
		size = left
	}
	if size > f.limits.ChunkBytes {
		err := f.problem(Limit, offset, "the chunk has %d bytes; the limit is %d", size, f.limits.ChunkBytes)
		if cut {
			size = 0
		}
		return size, err
	}
	f.buffer = slices.Grow(f.buffer[:0], int(size))[:size]
	if _, err := f.in.ReadAt(f.buffer, offset); err != nil {
		return 0, fmt.Errorf("read the recording: %w", err)
	}
	usable := int(size)
	if cut {
		if usable = h.salvage(f.buffer); usable == 0 {
			return 0, f.missing(offset, declared, left)
		}
	}
	if err := f.begin(h, int64(usable), offset); err != nil {
		return 0, err
	}
	var err error
	switch {
	case cut:
		err = f.missing(offset, declared, left)
	case h.state != 0:
		err = f.problem(Unfinished, offset, "the chunk was not finished: its header says %d bytes, of the file's %d", size, left)
	}
	if err == nil {
		err = f.contents(ctx, h, f.buffer[:usable], offset)
	}
	if cut || h.state != 0 {
		size = 0
	}
	return size, err
}

func (f *file) begin(h header, size, offset int64) error {
	f.summary.Chunks++
	return f.visit(&Chunk{
		Index: f.index, Offset: offset, Bytes: size, StartNanos: h.startNanos, DurationNanos: h.durationNanos,
		StartTicks: h.startTicks, TicksPerSecond: h.ticksPerSecond, State: h.state, Last: h.flags&lastChunk != 0,
	})
}

// mostKept constants and references may a chunk have whose tables serve for others.
const mostKept = 1 << 19

// contents reads what a chunk has.
func (f *file) contents(ctx context.Context, h header, data []byte, offset int64) error {
	p := &parser{file: f, header: h, data: data}
	wrong := p.run(ctx)
	if p.entries > mostKept {
		f.known = nil
	}
	for _, t := range p.types {
		if t.events > 0 {
			f.summary.Types[t.name] += t.events
		}
	}
	switch {
	case p.visitErr != nil:
		return p.visitErr
	case wrong != nil && wrong.limit:
		return f.problem(Limit, offset+int64(wrong.position), "%s", wrong.message)
	case wrong != nil:
		return f.problem(Layout, offset+int64(wrong.position), "%s", wrong.message)
	}
	return nil
}

// missing gives the problem that the file ends in the chunk at hand.
func (f *file) missing(offset, declared, left int64) error {
	f.summary.Problems++
	return f.visit(&Problem{
		Chunk: f.index, Offset: offset, Kind: CutFile, Missing: max(declared-left, 0),
		Message: fmt.Sprintf("the header says %d bytes; the file ends after %d", declared, left),
	})
}

// problem gives a problem of the chunk at hand.
func (f *file) problem(kind ProblemKind, offset int64, format string, arguments ...any) error {
	f.summary.Problems++
	message := fmt.Sprintf(format, arguments...)
	return f.visit(&Problem{Chunk: f.index, Offset: offset, Message: message[:min(len(message), mostMessage)], Kind: kind})
}
