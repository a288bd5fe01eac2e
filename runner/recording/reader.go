package recording

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// ErrNoEnd says that a stream ends before its summary: the helper died, or was ended.
var ErrNoEnd = errors.New("the stream ends before its summary")

// Read reads a stream and calls visit with each record, in the order of the recording's chunks and of the events in them (which is
// not that of time). It keeps what one chunk refers to. An error of visit ends it and is returned as it is; other errors say which
// record is wrong, or are ErrNoEnd; the summary then holds what was read so far.
func Read(stream io.Reader, visit func(Record) error) (Summary, error) {
	r := reader{in: bufio.NewReaderSize(stream, 1<<16), visit: visit, summary: Summary{Types: map[string]int64{}}}
	head := make([]byte, len(magic))
	if _, err := io.ReadFull(r.in, head); err != nil {
		return r.summary, noEnd(err)
	}
	if string(head) != magic {
		return r.summary, fmt.Errorf("the stream begins with %q, not %q: build the helper anew (make recording)", head, magic)
	}
	for number := 1; ; number++ {
		done, err := r.next(number)
		if done || err != nil {
			return r.summary, err
		}
	}
}

type reader struct {
	in      *bufio.Reader
	visit   func(Record) error
	buffer  []byte
	chunk   Chunk
	tables  tables
	summary Summary
}

// tables are what the records of a chunk refer to.
type tables struct {
	strings []string
	types   []string
	threads []*Thread
	methods []*Method
	stacks  []*Stack
}

func noEnd(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return ErrNoEnd
	}
	return fmt.Errorf("read the stream: %w", err)
}

// next reads one record; it reports whether it was the last one.
func (r *reader) next(number int) (bool, error) {
	tag, err := r.in.ReadByte()
	if err != nil {
		return false, noEnd(err)
	}
	size, err := binary.ReadUvarint(r.in)
	if err != nil {
		return false, noEnd(err)
	}
	if size > maxRecord {
		return false, fmt.Errorf("record %d (%q) of the stream has %d bytes; the limit is %d", number, tag, size, maxRecord)
	}
	if uint64(cap(r.buffer)) < size {
		r.buffer = make([]byte, size)
	}
	r.buffer = r.buffer[:size]
	if _, err := io.ReadFull(r.in, r.buffer); err != nil {
		return false, noEnd(err)
	}
	p := payload{rest: r.buffer}
	record := r.decode(tag, &p)
	if p.err != nil {
		return false, fmt.Errorf("record %d (%q) of the stream: %w", number, tag, p.err)
	}
	if record != nil {
		if err := r.visit(record); err != nil {
			return false, err
		}
	}
	return tag == tagEnd, nil
}

// decode enters a record into the tables or the summary, or returns it.
func (r *reader) decode(tag byte, p *payload) Record {
	t := &r.tables
	switch tag {
	case tagChunk:
		return r.decodeChunk(p)
	case tagString:
		t.strings = add(p, t.strings, p.text())
	case tagType:
		t.types = add(p, t.types, entry(p, t.strings, "string"))
	case tagThread:
		t.threads = add(p, t.threads, t.thread(p))
	case tagMethod:
		t.methods = add(p, t.methods, t.method(p))
	case tagStack:
		t.stacks = add(p, t.stacks, t.stack(p))
	case tagEvent:
		return r.event(p)
	case tagLost:
		return &Lost{StartNanos: r.chunk.StartNanos + p.zigzag(), Thread: entry(p, t.threads, "thread"), Samples: p.signed()}
	case tagSetting:
		text := func() string { return entry(p, t.strings, "string") }
		return &Setting{Type: text(), Name: text(), Value: text()}
	case tagPool:
		return &Pool{Type: entry(p, t.strings, "string"), Defined: p.count(), Referenced: p.count()}
	case tagDiffer:
		return &Differing{Type: entry(p, t.strings, "string"), Fields: entry(p, t.strings, "string"), IDs: p.count()}
	case tagLink:
		text := func() string { return entry(p, t.strings, "string") }
		return &Link{Type: text(), From: text(), Field: text(), Referenced: p.count(), Lacking: p.count()}
	case tagWindow:
		return &Window{Type: entry(p, t.strings, "string"), Events: p.signed(), FirstNanos: p.zigzag(), LastNanos: p.zigzag()}
	case tagLacking:
		return t.fault(p, Lacking)
	case tagTwice:
		return t.fault(p, Twice)
	case tagProblem:
		return &Problem{Chunk: int(p.unsigned()), Offset: p.signed(), Message: p.text(), Kind: p.problemKind()}
	case tagCount:
		r.summary.Types[p.text()] = p.signed()
	case tagEnd:
		s := &r.summary
		s.Complete, s.Chunks, s.Problems = p.unsigned() == 1, int(p.unsigned()), int(p.unsigned())
		s.Events, s.LostBytes, s.LostSamples = p.signed(), p.signed(), p.signed()
	default:
		p.fail(errors.New("unknown tag: build the helper anew (make recording)"))
	}
	return nil
}

func (r *reader) decodeChunk(p *payload) Record {
	r.tables = tables{}
	r.chunk = Chunk{
		Index: int(p.unsigned()), Offset: p.signed(), Bytes: p.signed(),
		StartNanos: p.signed(), DurationNanos: p.signed(), StartTicks: p.signed(), TicksPerSecond: p.signed(),
		State: uint8(p.unsigned()), Last: p.unsigned()&2 != 0,
	}
	chunk := r.chunk
	return &chunk
}

func (r *reader) event(p *payload) Record {
	t := &r.tables
	e := &Event{
		Type: entry(p, t.types, "type"), StartNanos: r.chunk.StartNanos + p.zigzag(), DurationNanos: p.signed(),
		PeriodNanos: p.signed(), Thread: entry(p, t.threads, "thread"), Stack: entry(p, t.stacks, "stack"),
		State: entry(p, t.strings, "string"),
	}
	truths := p.unsigned()
	e.Biased, e.Failed = Truth(truths>>2), Truth(truths&3)
	if e.Biased > True || e.Failed > True || truths>>4 != 0 {
		p.fail(fmt.Errorf("truth values %#x", truths))
	}
	return e
}

func (t *tables) thread(p *payload) *Thread {
	return &Thread{
		Constant: p.unsigned(), OS: p.signed(), Java: p.signed(),
		Name: entry(p, t.strings, "string"), Group: entry(p, t.strings, "string"), Virtual: p.unsigned() == 1,
	}
}

func (t *tables) fault(p *payload, kind FaultKind) *Fault {
	return &Fault{
		Kind: kind, Type: entry(p, t.strings, "string"), ID: p.unsigned(),
		From: entry(p, t.strings, "string"), Position: p.signed(), Field: entry(p, t.strings, "string"),
	}
}

func (t *tables) method(p *payload) *Method {
	m := &Method{Constant: p.unsigned(), ClassConstant: p.unsigned()}
	for _, field := range []*string{&m.Class, &m.Loader, &m.Name, &m.Descriptor} {
		*field = entry(p, t.strings, "string")
	}
	m.Modifiers = uint32(p.unsigned())
	flags := p.unsigned()
	m.Hidden, m.ClassHidden = flags&1 != 0, flags&2 != 0
	return m
}

func (t *tables) stack(p *payload) *Stack {
	s := &Stack{Constant: p.unsigned()}
	flags, size := p.unsigned(), p.unsigned()
	s.Truncated, s.Cut = flags&1 != 0, flags&2 != 0
	if size > uint64(len(p.rest)/4) { // a frame has at least four bytes
		p.fail(fmt.Errorf("%d frames in %d bytes", size, len(p.rest)))
		return s
	}
	s.Frames = make([]Frame, size)
	for i := range s.Frames {
		f := &s.Frames[i]
		f.Method, f.BCI, f.Line = entry(p, t.methods, "method"), int32(p.zigzag()), int32(p.zigzag())
		if f.Kind = FrameKind(min(p.unsigned(), uint64(Kernel)+1)); f.Kind > Kernel {
			f.Kind = UnknownFrame
		}
	}
	return s
}

// add appends to a table, whose size is bounded.
func add[T any](p *payload, table []T, value T) []T {
	if len(table) >= maxTable {
		p.fail(fmt.Errorf("more than %d records of one kind in a chunk", maxTable))
		return table
	}
	return append(table, value)
}
