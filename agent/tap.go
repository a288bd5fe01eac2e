package agent

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
)

// FileTap is the name of the taps' file in the agent's folder.
const FileTap = "tap.bin"

// ErrTap is wrapped by errors about a file that is not a tap.bin of this version of the agent.
var ErrTap = errors.New("not a tap file of this agent")

// Tap is what was noted about the calls of other samplers' signal handlers (option tap): the content of tap.bin.
type Tap struct {
	// PID is that of the JVM.
	PID uint32
	// Signals are the numbers of the signals of "prof" and of "usr2", 0 where not asked for; Called counts the calls of each one's
	// handlers.
	Signals [tapCount]uint32
	Called  [tapCount]uint64
	// Lost calls have no record.
	Lost TapLoss
	// Calls are ordered by thread, those of a thread by their beginning.
	Calls []TapCall
	// Names maps an id on the shadow to its method, "package/Class.name(descriptor)result".
	Names map[uint32]string
	// Clocks are ordered by time.
	Clocks []TapClock
	// Handlers are in the order in which they were found.
	Handlers []TapHandler
	// Ended means that the VM shut down in order: then each call has a record or is lost. Cut is the number of bytes of an unfinished
	// record at the end.
	Ended bool
	Cut   int
}

// TapLoss counts lost calls by reason: more threads than buffers, a full buffer, after the agent's end, a file that is full or
// cannot be written.
type TapLoss struct{ Buffers, Full, Late, File uint64 }

// Sum is the number of lost calls.
func (l TapLoss) Sum() uint64 { return l.Buffers + l.Full + l.Late + l.File }

// TapCall is one call of a handler.
type TapCall struct {
	TID, Signal uint32
	// Shadow means that the thread has a shadow, Overflow that it ran over (no entry is known), OtherStack that the interrupted stack
	// is not the thread's own, Carrier that virtual threads were mounted on it.
	Shadow, Overflow, OtherStack, Carrier bool
	// Entries are the ids on the shadow, oldest first: the newest of Depth.
	Entries []uint32
	Depth   uint32
	// Generation is the handler's, Nested the number of taps below this one on the thread.
	Generation, Nested uint32
	Phase              Phase
	// PC, SP and FP are those of the interrupted thread.
	PC, SP, FP uint64
	// EnterNanos, BeginNanos and EndNanos are CLOCK_MONOTONIC when the tap was entered, right before the original handler and right
	// after it; BeginTicks and EndTicks belong to the latter two. Those of the end are 0 if it did not return.
	EnterNanos, BeginNanos, EndNanos uint64
	BeginTicks, EndTicks             uint64
}

// TapClock has the clocks at one instant, which took TookNanos to read.
type TapClock struct{ MonotonicNanos, RealtimeNanos, Ticks, TookNanos uint64 }

// TapHandler is another sampler's handler, as it was found.
type TapHandler struct {
	Signal, Generation uint32
	Nanos, Address     uint64
	Flags              uint64
}

// ReadTap reads tap.bin, while the JVM runs or after its death. For a file of another format the error wraps ErrTap.
func ReadTap(path string) (Tap, error) {
	f, err := os.Open(path)
	if err != nil {
		return Tap{}, fmt.Errorf("read taps: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, tapMostBytes))
	if err != nil {
		return Tap{}, fmt.Errorf("read taps %s: %w", path, err)
	}
	t, err := ParseTap(data)
	if err != nil {
		return Tap{}, fmt.Errorf("read taps %s: %w", path, err)
	}
	return t, nil
}

// ParseTap parses the bytes of tap.bin.
func ParseTap(data []byte) (Tap, error) {
	if len(data) < tapHeader {
		return Tap{}, fmt.Errorf("%w: it is shorter than a header", ErrTap)
	}
	head := tapBytes(data[:tapHeader])
	if head.u64(tapMagicOffset) != tapMagic {
		return Tap{}, fmt.Errorf("%w: wrong magic number", ErrTap)
	}
	if v := head.u32(tapVersionOffset); v != tapVersion {
		return Tap{}, fmt.Errorf("%w: expected version %d, got %d", ErrTap, tapVersion, v)
	}
	lost := func(reason int) uint64 { return head.u64(tapLostOffset + 8*reason) }
	t := Tap{
		PID:   head.u32(tapPIDOffset),
		Lost:  TapLoss{lost(tapLostBuffers), lost(tapLostFull), lost(tapLostLate), lost(tapLostFile)},
		Names: map[uint32]string{},
		Ended: head.u32(tapFlagsOffset)&tapFlagEnded != 0,
	}
	for i := range tapCount {
		t.Signals[i] = head.u32(tapSignalsOffset + 4*i)
		t.Called[i] = head.u64(tapCallsOffset + 8*i)
	}
	for at := tapHeader; at < len(data); {
		rest := data[at:]
		if len(rest) < 8 || int64(len(rest)) < int64(tapBytes(rest).u32(0)) {
			t.Cut = len(rest)
			break
		}
		size := int(tapBytes(rest).u32(0))
		if size < 8 || size%8 != 0 {
			return Tap{}, fmt.Errorf("%w: the record at byte %d has %d bytes: expected a multiple of 8", ErrTap, at, size)
		}
		if err := t.add(rest[:size]); err != nil {
			return Tap{}, fmt.Errorf("%w: the record at byte %d %w", ErrTap, at, err)
		}
		at += size
	}
	slices.SortStableFunc(t.Calls, func(a, b TapCall) int {
		return cmp.Or(cmp.Compare(a.TID, b.TID), cmp.Compare(a.BeginNanos, b.BeginNanos))
	})
	return t, nil
}

// tapBytes is one record, or the header, for reading its fields.
type tapBytes []byte

func (r tapBytes) u32(at int) uint32 { return binary.LittleEndian.Uint32(r[at:]) }
func (r tapBytes) u64(at int) uint64 { return binary.LittleEndian.Uint64(r[at:]) }

// add adds one record, the size of which is that of its bytes.
func (t *Tap) add(r tapBytes) error {
	kind := r.u32(4)
	least := map[uint32]int{
		tapCall: tapCallSize, tapName: tapNameSize, tapClock: tapClockSize, tapHandler: tapHandlerSize,
	}[kind]
	switch {
	case least == 0:
		return fmt.Errorf("is of the unknown kind %d", kind)
	case len(r) < least:
		return fmt.Errorf("has %d bytes: expected at least %d", len(r), least)
	}
	switch kind {
	case tapCall:
		return t.addCall(r)
	case tapName:
		length := int64(r.u32(tapNameLengthOffset))
		if length > int64(len(r)-tapNameSize) {
			return fmt.Errorf("has a name of %d bytes: expected at most %d", length, len(r)-tapNameSize)
		}
		t.Names[r.u32(tapNameIDOffset)] = cString(r[tapNameSize : tapNameSize+length])
	case tapClock:
		t.Clocks = append(t.Clocks, TapClock{
			r.u64(tapClockMonotonicOffset), r.u64(tapClockRealtimeOffset), r.u64(tapClockTicksOffset), r.u64(tapClockTookOffset),
		})
	case tapHandler:
		t.Handlers = append(t.Handlers, TapHandler{
			Signal: r.u32(tapHandlerSignalOffset), Generation: r.u32(tapHandlerGenerationOffset),
			Nanos: r.u64(tapHandlerNanosOffset), Address: r.u64(tapHandlerAddressOffset), Flags: r.u64(tapHandlerSaFlagsOffset),
		})
	}
	return nil
}

func (t *Tap) addCall(r tapBytes) error {
	entries := int64(r.u32(tapCallEntriesOffset))
	if room := int64(len(r)-tapCallSize) / 4; entries > room {
		return fmt.Errorf("has %d entries: expected at most %d", entries, room)
	}
	flags := r.u32(tapCallFlagsOffset)
	c := TapCall{
		TID: r.u32(tapCallTIDOffset), Signal: r.u32(tapCallSignalOffset),
		Shadow: flags&tapCallShadow != 0, Overflow: flags&tapCallOverflow != 0,
		OtherStack: flags&tapCallOtherStack != 0, Carrier: flags&tapCallCarrier != 0,
		Entries: make([]uint32, entries), Depth: r.u32(tapCallDepthOffset),
		Generation: r.u32(tapCallGenerationOffset), Nested: r.u32(tapCallNestedOffset), Phase: Phase(r.u32(tapCallPhaseOffset)),
		PC: r.u64(tapCallPCOffset), SP: r.u64(tapCallSPOffset), FP: r.u64(tapCallFPOffset),
		EnterNanos: r.u64(tapCallEnterOffset), BeginNanos: r.u64(tapCallBeginOffset), EndNanos: r.u64(tapCallEndOffset),
		BeginTicks: r.u64(tapCallBeginTicksOffset), EndTicks: r.u64(tapCallEndTicksOffset),
	}
	for i := range c.Entries {
		c.Entries[i] = r.u32(tapCallSize + 4*i)
	}
	t.Calls = append(t.Calls, c)
	return nil
}

// Realtime converts CLOCK_MONOTONIC to CLOCK_REALTIME by the clocks around that time, which a step of the system's time may lie
// between. It returns 0 when no clocks are known.
func (t *Tap) Realtime(monotonicNanos uint64) uint64 {
	if len(t.Clocks) == 0 {
		return 0
	}
	later := func(c TapClock, at uint64) int { return cmp.Compare(c.MonotonicNanos, at) }
	i, _ := slices.BinarySearchFunc(t.Clocks, monotonicNanos, later)
	c := t.Clocks[max(i-1, 0)]
	if i == 0 || i == len(t.Clocks) {
		return monotonicNanos + (c.RealtimeNanos - c.MonotonicNanos)
	}
	next := t.Clocks[i]
	before, after := int64(c.RealtimeNanos-c.MonotonicNanos), int64(next.RealtimeNanos-next.MonotonicNanos)
	share := float64(monotonicNanos-c.MonotonicNanos) / float64(max(next.MonotonicNanos-c.MonotonicNanos, 1))
	return monotonicNanos + uint64(before+int64(share*float64(after-before)))
}
