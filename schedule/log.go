package schedule

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// A log is the line "misstep schedule log 3", one line of JSON (Header), and records of RecordSize bytes, little-endian, laid
// out as struct misstep_record of intf.h. The last one is of kind End; a log without it was cut short. Logs of version 2 have no
// records of kind Run.
const (
	logMagic   = "misstep schedule log 3\n"
	olderMagic = "misstep schedule log 2\n"
	maxHeader  = 1 << 20
)

// RecordSize is the number of bytes of a record.
const RecordSize = 80

// ErrLog is wrapped by errors about a file that is not a log, about a log of another version, and about a damaged one.
var ErrLog = errors.New("not a schedule log of this version")

// ErrCut is returned at the end of a log without its end record: the records are usable, but incomplete.
var ErrCut = errors.New("schedule log was cut short")

// Header describes how a log was recorded.
type Header struct {
	Perturbation
	// Mechanism took the decisions; empty means the kernel's scheduler, the only mechanism that can replay a log.
	Mechanism string `json:"mechanism,omitempty"`
	// FixedAddresses reports whether programs and libraries were loaded at the same addresses as in any other such run, so that
	// places are comparable.
	FixedAddresses bool `json:"fixed_addresses,omitempty"`
	// Command is the command line that ran, for display.
	Command []string `json:"command,omitempty"`
}

// LogWriter writes a log. It keeps the first error, which Close returns.
type LogWriter struct {
	w         *bufio.Writer
	buffer    []byte
	decisions uint64
	err       error
}

// NewLogWriter writes the header of a log.
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
	l.buffer = r.Append(l.buffer[:0])
	if _, err := l.w.Write(l.buffer); err != nil && l.err == nil {
		l.err = err
	}
}

// Close writes the end record, with the number of records that were lost before they reached the writer, and flushes.
func (l *LogWriter) Close(lost uint64) error {
	l.Add(Record{Kind: RecordEnd, Delay: l.decisions, Slice: lost})
	if err := errors.Join(l.err, l.w.Flush()); err != nil {
		return fmt.Errorf("write schedule log: %w", err)
	}
	return nil
}

// LogReader reads a log record by record, in constant memory.
type LogReader struct {
	Header Header
	r      *bufio.Reader
	offset int64 // of the next record
	ended  bool
}

// NewLogReader reads the header. The error wraps ErrLog if r is not a log.
func NewLogReader(r io.Reader) (*LogReader, error) {
	l := &LogReader{r: bufio.NewReaderSize(io.LimitReader(r, 1<<40), 1<<16)}
	magic := make([]byte, len(logMagic))
	if _, err := io.ReadFull(l.r, magic); err != nil || string(magic) != logMagic && string(magic) != olderMagic {
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
	l.offset = int64(len(magic) + len(text))
	return l, nil
}

// Next returns the next record; io.EOF after the end record, ErrCut if that is missing, ErrLog at a record of an unknown kind.
func (l *LogReader) Next() (Record, error) {
	var b [RecordSize]byte
	if _, err := io.ReadFull(l.r, b[:]); err != nil {
		if l.ended && errors.Is(err, io.EOF) {
			return Record{}, io.EOF
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return Record{}, ErrCut
		}
		return Record{}, fmt.Errorf("read schedule log: %w", err)
	}
	r := ParseRecord(b[:])
	if l.ended || r.Kind < RecordThread || r.Kind > RecordRun {
		return Record{}, fmt.Errorf("read schedule log: %w: unexpected record of kind %d at offset %d", ErrLog, r.Kind, l.offset)
	}
	l.offset += RecordSize
	l.ended = r.Kind == RecordEnd
	return r, nil
}

// MaxReplay is the largest number of decisions of a log that can be replayed: a map in the kernel holds them, about 100 bytes each.
const MaxReplay = 4 << 20

// Log is a whole log, as a replay needs it.
type Log struct {
	Header    Header
	Threads   []Record
	Decisions []Record
	// Runs are those in which threads had a CPU; logs of version 2 and those of the agent have none.
	Runs []Record
	// Lost is the number of lost records: a replay departs where they are missing.
	Lost uint64
	// Cut is true when the end record is missing; CutAt is then the offset up to which the log was read.
	Cut   bool
	CutAt int64
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
			l.Cut, l.CutAt = true, reader.offset
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
		case record.Kind == RecordRun:
			l.Runs = append(l.Runs, record)
		default:
			l.Lost = record.Slice
		}
		if max(len(l.Threads)+len(l.Decisions), len(l.Runs)) > MaxReplay {
			return nil, fmt.Errorf("read schedule log: more than %d decisions: record a shorter run", MaxReplay)
		}
	}
}

// bounded rejects a decision that no strategy takes and that could get the scheduler ejected; the bounds are those of intf.h.
func bounded(d Record) error {
	if d.Delay > 4e9 || d.Rank > 1e9 || d.Slice < 10e3 || d.Slice > 100e6 {
		return fmt.Errorf("read schedule log: %w: delay %d, rank %d or slice %d is out of bounds", ErrLog, d.Delay, d.Rank, d.Slice)
	}
	return nil
}
