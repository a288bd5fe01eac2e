package bpf

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// A log is the line "misstep schedule log 2", one line of JSON (Header), and records of recordSize bytes, little-endian, laid
// out as struct misstep_record of intf.h. The last one is of kind End; a log without it was cut short.
const (
	logMagic   = "misstep schedule log 2\n"
	recordSize = 80
	maxHeader  = 1 << 20
)

// ErrLog is wrapped by errors about a file that is no log, or one of another version, or a damaged one.
var ErrLog = errors.New("not a schedule log of this version")

// ErrCut says that a log ends without its end record: what is there is usable, but not all there was.
var ErrCut = errors.New("schedule log was cut short")

// Header says under what a log was recorded.
type Header struct {
	Perturbation
	// Mechanism that took the decisions; empty is the kernel's scheduler, the one that can replay a log.
	Mechanism string `json:"mechanism,omitempty"`
	// FixedAddresses says that programs and libraries were loaded at the same addresses as in any other such run: places are comparable.
	FixedAddresses bool `json:"fixed_addresses,omitempty"`
	// Command that ran, for people.
	Command []string `json:"command,omitempty"`
}

// RecordKind orders records.
type RecordKind uint16

// Kinds of records.
const (
	RecordUnspecified RecordKind = iota
	// RecordThread introduces a thread: Path, Parent, Counter (its ordinal among the parent's children), TID, Comm.
	RecordThread
	// RecordDecision is one decision of a thread.
	RecordDecision
	// RecordEnd closes a log: Delay is the number of decisions taken, Slice of records lost.
	RecordEnd
)

// Event at which a thread came to a decision.
type Event uint16

// Events.
const (
	EventUnspecified Event = iota
	EventStart
	EventWakeup
	EventExpiry
)

func (e Event) String() string {
	return name(int(e), "unspecified", "start", "wake-up", "end of slice")
}

// Role of a thread in a JVM.
type Role uint16

// RoleUnspecified is the role of no thread; Mutator that of every thread without a special name.
const (
	RoleUnspecified Role = iota
	RoleSampler
	RoleVM
	RoleGC
	RoleCompiler
	RoleMutator
)

var roleNames = []string{"unspecified", "sampler", "vm", "gc", "compiler", "mutator"}

func (r Role) String() string { return name(int(r), roleNames...) }

func name(i int, names ...string) string {
	if i >= 0 && i < len(names) {
		return names[i]
	}
	return fmt.Sprintf("unknown(%d)", i)
}

// Mark says how a decision came about; marks are or-ed.
type Mark uint16

// Marks.
const (
	MarkDelayed Mark = 1 << iota
	MarkStarved
	MarkShort
	MarkChanged
	MarkReplayed
	MarkDeparted
	MarkPlaced
)

func (m Mark) String() string {
	var set []string
	for i, text := range []string{"delayed", "starved", "short slice", "priority changed", "replayed", "departed", "at its place"} {
		if m&(1<<i) != 0 {
			set = append(set, text)
		}
	}
	return strings.Join(set, ", ")
}

// Record is one entry of a log.
type Record struct {
	Kind RecordKind
	// Elapsed time since the tree's first thread.
	Elapsed time.Duration
	// Path of creation that identifies the thread in every run.
	Path uint64
	// Delay before the thread may run; for RecordThread the parent's path.
	Delay uint64
	// Slice in nanoseconds.
	Slice uint64
	// Rank: it may be passed by threads that become ready up to so many nanoseconds later.
	Rank uint64
	// Place is the address of the user instruction before which the thread lost its CPU; 0 if it did not, or is no user's.
	Place uint64
	// Counter of the thread's decisions, from 0.
	Counter uint32
	TID     uint32
	Event   Event
	Role    Role
	Marks   Mark
	// Comm is the thread's name in the kernel.
	Comm string
}

func (r Record) append(b []byte) []byte {
	le := binary.LittleEndian
	b = le.AppendUint64(b, uint64(r.Elapsed))
	b = le.AppendUint64(b, r.Path)
	b = le.AppendUint64(b, r.Delay)
	b = le.AppendUint64(b, r.Slice)
	b = le.AppendUint64(b, r.Rank)
	b = le.AppendUint64(b, r.Place)
	b = le.AppendUint32(b, r.Counter)
	b = le.AppendUint32(b, r.TID)
	b = le.AppendUint16(b, uint16(r.Kind))
	b = le.AppendUint16(b, uint16(r.Event))
	b = le.AppendUint16(b, uint16(r.Role))
	b = le.AppendUint16(b, uint16(r.Marks))
	var comm [16]byte
	copy(comm[:15], r.Comm)
	return append(b, comm[:]...)
}

// parseRecord takes the first recordSize bytes of b; there are that many.
func parseRecord(b []byte) Record {
	le := binary.LittleEndian
	comm, _, _ := bytes.Cut(b[64:80], []byte{0})
	return Record{
		Elapsed: time.Duration(le.Uint64(b)), Path: le.Uint64(b[8:]), Delay: le.Uint64(b[16:]), Slice: le.Uint64(b[24:]),
		Rank: le.Uint64(b[32:]), Place: le.Uint64(b[40:]), Counter: le.Uint32(b[48:]), TID: le.Uint32(b[52:]),
		Kind: RecordKind(le.Uint16(b[56:])), Event: Event(le.Uint16(b[58:])), Role: Role(le.Uint16(b[60:])), Marks: Mark(le.Uint16(b[62:])),
		Comm: string(comm[:min(len(comm), 15)]),
	}
}

// LogWriter writes a log. It keeps the first error and gives it to Close.
type LogWriter struct {
	w         *bufio.Writer
	buffer    []byte
	decisions uint64
	err       error
}

// NewLogWriter starts a log.
func NewLogWriter(w io.Writer, h Header) (*LogWriter, error) {
	text, err := json.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("write schedule log: %w", err)
	}
	l := &LogWriter{w: bufio.NewWriterSize(w, 1<<16)}
	_, err = fmt.Fprintf(l.w, "%s%s\n", logMagic, text)
	if err != nil {
		return nil, fmt.Errorf("write schedule log: %w", err)
	}
	return l, nil
}

// Add appends a record.
func (l *LogWriter) Add(r Record) {
	if r.Kind == RecordDecision {
		l.decisions++
	}
	l.buffer = r.append(l.buffer[:0])
	if _, err := l.w.Write(l.buffer); err != nil && l.err == nil {
		l.err = err
	}
}

// Close writes the end record, with the number of records that were lost before they came here, and flushes.
func (l *LogWriter) Close(lost uint64) error {
	l.Add(Record{Kind: RecordEnd, Delay: l.decisions, Slice: lost})
	if err := errors.Join(l.err, l.w.Flush()); err != nil {
		return fmt.Errorf("write schedule log: %w", err)
	}
	return nil
}

// LogReader reads a log record by record, in memory that does not grow with it.
type LogReader struct {
	Header Header
	r      *bufio.Reader
	ended  bool
}

// NewLogReader reads the header. The error wraps ErrLog if this is no log.
func NewLogReader(r io.Reader) (*LogReader, error) {
	l := &LogReader{r: bufio.NewReaderSize(io.LimitReader(r, 1<<40), 1<<16)}
	magic := make([]byte, len(logMagic))
	if _, err := io.ReadFull(l.r, magic); err != nil || string(magic) != logMagic {
		return nil, fmt.Errorf("read schedule log: %w: it does not begin with %q", ErrLog, strings.TrimSpace(logMagic))
	}
	var text []byte
	for {
		part, err := l.r.ReadSlice('\n')
		text = append(text, part...)
		if err == nil {
			break
		}
		if !errors.Is(err, bufio.ErrBufferFull) || len(text) > maxHeader {
			return nil, fmt.Errorf("read schedule log: %w: its header has no end", ErrLog)
		}
	}
	if err := json.Unmarshal(text, &l.Header); err != nil {
		return nil, fmt.Errorf("read schedule log: %w: header: %w", ErrLog, err)
	}
	return l, nil
}

// Next returns the next record; io.EOF after the end record, ErrCut where that is missing, ErrLog at a record of no known kind.
func (l *LogReader) Next() (Record, error) {
	var b [recordSize]byte
	if _, err := io.ReadFull(l.r, b[:]); err != nil {
		if l.ended && errors.Is(err, io.EOF) {
			return Record{}, io.EOF
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return Record{}, ErrCut
		}
		return Record{}, fmt.Errorf("read schedule log: %w", err)
	}
	r := parseRecord(b[:])
	if l.ended || r.Kind < RecordThread || r.Kind > RecordEnd {
		return Record{}, fmt.Errorf("read schedule log: %w: a record of kind %d", ErrLog, r.Kind)
	}
	l.ended = r.Kind == RecordEnd
	return r, nil
}

// MaxReplay bounds the decisions of a log that can be replayed: they are held in a map of the kernel, about 100 bytes each.
const MaxReplay = 4 << 20

// Log is a whole log for a replay.
type Log struct {
	Header    Header
	Threads   []Record
	Decisions []Record
	// Lost records: a replay departs where they are missing.
	Lost uint64
	// Cut is true when the end record is missing.
	Cut bool
}

// ReadLog reads a whole log of at most MaxReplay decisions.
func ReadLog(r io.Reader) (*Log, error) {
	reader, err := NewLogReader(r)
	if err != nil {
		return nil, err
	}
	l := &Log{Header: reader.Header}
	for {
		record, err := reader.Next()
		switch {
		case errors.Is(err, io.EOF):
			return l, nil
		case errors.Is(err, ErrCut):
			l.Cut = true
			return l, nil
		case err != nil:
			return nil, err
		case record.Kind == RecordThread:
			l.Threads = append(l.Threads, record)
		case record.Kind == RecordDecision:
			if err := bounded(record); err != nil {
				return nil, err
			}
			l.Decisions = append(l.Decisions, record)
		default:
			l.Lost = record.Slice
		}
		if len(l.Threads)+len(l.Decisions) > MaxReplay {
			return nil, fmt.Errorf("read schedule log: more than %d decisions: record a shorter run", MaxReplay)
		}
	}
}

// bounded refuses a decision that no strategy takes and that could have the scheduler ejected; the bounds are those of intf.h.
func bounded(d Record) error {
	if d.Delay > 4e9 || d.Rank > 1e9 || d.Slice < 10e3 || d.Slice > 100e6 {
		return fmt.Errorf("read schedule log: %w: delay %d, rank %d or slice %d is out of bounds", ErrLog, d.Delay, d.Rank, d.Slice)
	}
	return nil
}

// threadNames writes paths of creation for people: "0.3.1" is the second child of the fourth child of the first process.
type threadNames map[uint64]Record

func (n threadNames) add(r Record) {
	if _, known := n[r.Path]; !known {
		n[r.Path] = r
	}
}

func (n threadNames) name(path uint64) string {
	var ordinals []string
	for range 64 { // no deeper: parents that form a circle come from a damaged log
		r, known := n[path]
		if !known {
			if len(ordinals) == 0 {
				return fmt.Sprintf("#%016x", path)
			}
			break
		}
		ordinals = append(ordinals, fmt.Sprint(r.Counter))
		path = r.Delay
	}
	slices.Reverse(ordinals)
	return strings.Join(ordinals, ".")
}
