package agent

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"misstep/internal/regular"
)

// FileStacks is the name, in the agent's folder, of the file with the stack traces that a Java thread took (option stacks), which
// StackSampler.java writes: the magic number, then records. A record is a tag (one byte), the length of its payload in bytes, and
// the payload. Numbers are unsigned LEB128, a string is its length in bytes and UTF-8. Frames and threads are numbered from 1 in
// the order of their records.
//
//	F frame   class, method, line (0: none)
//	H thread  Java thread id, name
//	R round   begin in nanoseconds since the epoch, duration in nanoseconds, threads, then for each: twice the thread (H), 1 more
//	          if it has not run since the round before, and the number of its frames + 1 with the frames (F), innermost first, or
//	          0 for its last trace again
//	G second  begin, duration, a thread (H) that has not run since that round, and the number of its frames with the frames (F),
//	          as JVMTI's GetStackTrace gives them
//	Z full    the file reached its limit
const FileStacks = "stacks.bin"

// ErrStacks is wrapped by errors about a file that is not a stacks.bin of this version of the agent.
var ErrStacks = errors.New("not a file of stack traces of this agent")

// StackRound is one call of Thread.getAllStackTraces(): each trace is its thread's of an instant between Begin and End, in
// nanoseconds since the epoch. Where it is Again, it is one of JVMTI's GetStackTrace, of a thread that has not run since the round
// before.
type StackRound struct {
	Begin, End int64
	Again      bool
	Stacks     []ThreadStack
}

// ThreadStack is the stack of a thread. Frames are innermost first; a thread that does not move shares them between rounds. It has
// Stood if it did not run from the end of the round before to that of this one, by its CPU time.
type ThreadStack struct {
	Thread *StackThread
	Frames []StackFrame
	Stood  bool
}

// StackThread is a thread by its Java id (Thread.getId).
type StackThread struct {
	Java int64
	Name string
}

// StackFrame is a java.lang.StackTraceElement; Line is 0 where it is unknown.
type StackFrame struct {
	Class, Method string
	Line          int32
}

// StackSummary says how a file of stack traces ends: Full, because it reached its limit, or Cut, in the middle of a record.
type StackSummary struct {
	Rounds    int
	Full, Cut bool
}

const (
	stacksMagic     = "MISSSTK2"
	stacksMostBytes = 1 << 20 // of a record; a round of 65,536 threads needs half of it if all stand still
	stacksMost      = 1 << 21 // frames, threads
	stacksMostDepth = 1 << 16
	stacksMostHeld  = 1 << 23 // frames of the threads' last stacks, 40 bytes each: 65,536 threads with 128 each
)

// ReadStacks reads stacks.bin, while the JVM runs or after its death, and calls visit with each round in order. An error of visit
// ends it and is returned as it is; for a file of another format the error wraps ErrStacks.
func ReadStacks(path string, visit func(StackRound) error) (StackSummary, error) {
	f, err := regular.Open(path)
	if err != nil {
		return StackSummary{}, fmt.Errorf("read stack traces: %w", err)
	}
	defer f.Close()
	summary, err := ParseStacks(f, visit)
	if errors.Is(err, ErrStacks) {
		err = fmt.Errorf("read stack traces %s: %w", path, err)
	}
	return summary, err
}

// ParseStacks is ReadStacks for the bytes of a file.
func ParseStacks(in io.Reader, visit func(StackRound) error) (summary StackSummary, err error) {
	r := bufio.NewReaderSize(in, 1<<16)
	magic := make([]byte, len(stacksMagic))
	if _, err := io.ReadFull(r, magic); err != nil || string(magic) != stacksMagic {
		return summary, fmt.Errorf("%w: it begins with %q, not %q", ErrStacks, magic, stacksMagic)
	}
	p := stackParser{last: map[uint64][]StackFrame{}}
	for number := 1; ; number++ {
		tag, payload, err := stackRecord(r)
		if errors.Is(err, io.EOF) {
			return summary, nil
		}
		if errors.Is(err, io.ErrUnexpectedEOF) {
			summary.Cut = true
			return summary, nil
		}
		if err == nil {
			p.rest = payload
			err = p.add(tag)
		}
		if err != nil {
			return summary, fmt.Errorf("%w: record %d: %w", ErrStacks, number, err)
		}
		switch tag {
		case 'R', 'G':
			if tag == 'R' {
				summary.Rounds++
			}
			if err := visit(p.round); err != nil {
				return summary, err
			}
		case 'Z':
			summary.Full = true
		}
	}
}

// stackRecord reads a tag and a payload. io.EOF means that there is none, io.ErrUnexpectedEOF that it is not complete.
func stackRecord(r *bufio.Reader) (byte, []byte, error) {
	tag, err := r.ReadByte()
	if err != nil {
		return 0, nil, err
	}
	size, err := binary.ReadUvarint(r)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return 0, nil, err
	}
	if size > 64*stacksMostBytes {
		return 0, nil, fmt.Errorf("it has %d bytes; the limit is %d", size, 64*stacksMostBytes)
	}
	// In pieces, so that a wrong length does not allocate what the file does not have.
	var payload []byte
	for left := int(size); left > 0; {
		piece := min(left, stacksMostBytes)
		at := len(payload)
		payload = slices.Grow(payload, piece)[:at+piece]
		if _, err := io.ReadFull(r, payload[at:]); err != nil {
			return 0, nil, io.ErrUnexpectedEOF
		}
		left -= piece
	}
	return tag, payload, nil
}

// stackParser holds what records refer to, and the record that is being read.
type stackParser struct {
	frames  []StackFrame
	threads []*StackThread
	last    map[uint64][]StackFrame
	held    int // frames in last
	read    int // frames in the round's stacks that are not held from before
	round   StackRound
	rest    []byte
	err     error
}

func (p *stackParser) add(tag byte) error {
	switch tag {
	case 'F':
		p.frames = append(p.frames, StackFrame{Class: p.text(), Method: p.text(), Line: int32(p.number())})
	case 'H':
		p.threads = append(p.threads, &StackThread{Java: int64(p.number()), Name: p.text()})
	case 'R':
		p.readRound()
	case 'G':
		p.readAgain()
	case 'Z':
	default:
		return fmt.Errorf("its tag %q is unknown", tag)
	}
	if len(p.frames) > stacksMost || len(p.threads) > stacksMost {
		return fmt.Errorf("there are more than %d frames or threads", stacksMost)
	}
	return p.err
}

func (p *stackParser) readRound() {
	p.round = StackRound{Begin: int64(p.number())}
	p.round.End = p.round.Begin + int64(p.number())
	threads := p.number()
	if threads > uint64(len(p.rest)) { // a thread has at least two bytes
		p.fail(fmt.Errorf("it has %d threads in %d bytes", threads, len(p.rest)))
		return
	}
	p.round.Stacks, p.read = make([]ThreadStack, 0, threads), 0
	for range threads {
		thread, size := p.number(), p.number()
		stood := thread%2 == 1
		thread /= 2
		if !p.known(thread) {
			return
		}
		if size > 0 {
			p.hold(thread, size-1)
		}
		p.round.Stacks = append(p.round.Stacks, ThreadStack{p.threads[thread-1], p.last[thread], stood})
	}
}

func (p *stackParser) readAgain() {
	p.round = StackRound{Begin: int64(p.number()), Again: true}
	p.round.End = p.round.Begin + int64(p.number())
	if thread := p.number(); p.known(thread) {
		p.round.Stacks = []ThreadStack{{p.threads[thread-1], p.stack(p.number()), true}}
	}
}

func (p *stackParser) known(thread uint64) bool {
	if p.err != nil || thread == 0 || thread > uint64(len(p.threads)) {
		p.fail(fmt.Errorf("it has thread %d of %d", thread, len(p.threads)))
		return false
	}
	return true
}

// hold reads a thread's stack. A frame may be one byte in the file.
func (p *stackParser) hold(thread, size uint64) {
	stack := p.stack(size)
	p.held += len(stack) - len(p.last[thread])
	p.read += len(stack)
	p.last[thread] = stack
	if max(p.held, p.read) > stacksMostHeld {
		p.fail(fmt.Errorf("the threads have more than %d frames", stacksMostHeld))
	}
}

func (p *stackParser) stack(size uint64) []StackFrame {
	if size > stacksMostDepth || size > uint64(len(p.rest)) {
		p.fail(fmt.Errorf("it has %d frames in %d bytes", size, len(p.rest)))
		return nil
	}
	stack := make([]StackFrame, size)
	for i := range stack {
		frame := p.number()
		if frame == 0 || frame > uint64(len(p.frames)) {
			p.fail(fmt.Errorf("it has frame %d of %d", frame, len(p.frames)))
			return nil
		}
		stack[i] = p.frames[frame-1]
	}
	return stack
}

func (p *stackParser) number() uint64 {
	value, n := binary.Uvarint(p.rest)
	if p.err != nil || n <= 0 {
		p.fail(errors.New("a value goes beyond it"))
		return 0
	}
	p.rest = p.rest[n:]
	return value
}

func (p *stackParser) text() string {
	size := p.number()
	if p.err != nil || size > uint64(len(p.rest)) {
		p.fail(errors.New("a text goes beyond it"))
		return ""
	}
	text := string(p.rest[:size])
	p.rest = p.rest[size:]
	return text
}

func (p *stackParser) fail(err error) {
	if p.err == nil {
		p.err = err
	}
}
