package agent

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"misstep/internal/regular"
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
	// Stills are in no order.
	Stills []TapStill
	// Names maps the id of an entry to its method, "package/Class.name(descriptor)result"; Methods does so for TapFrame.Method and
	// TapCall.Compiled, which may be of any method, while all that have entries are instrumented.
	Names, Methods map[uint32]string
	// Architecture of the instructions, as Go names it.
	Architecture string
	// Clocks are ordered by time.
	Clocks []TapClock
	// Handlers are in the order in which they were found.
	Handlers []TapHandler
	// Ended means that the VM shut down in order: then each call has a record or is lost. Cut is the number of bytes of an
	// unfinished record at the end.
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
	// Shadow means that the thread has a shadow, Overflow that it ran over (no entry is known), OtherStack that the interrupted
	// stack is not the thread's own, Carrier that virtual threads were mounted on it.
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
	// Code are the bytes at PC, at most 16, and TopState what ran there: "interpreted", "compiled", "stub", "native", or "" for
	// generated code that the JVM had not announced 250 ms later.
	Code     []byte
	TopState string
	// Compiled is the id of the method that was compiled, 0 unless TopState is "compiled": a trace's frames above it are inlined
	// into it, one physical frame with it.
	Compiled uint32
	// ReturnAt, ReturnState, ReturnCode and ReturnCopied are the fields return_* of misstep.v1.Mismatch.
	ReturnAt     uint64
	ReturnState  string
	ReturnCode   []byte
	ReturnCopied bool
	// Walked means that AsyncGetCallTrace was asked, right before the original handler; Busy that it was to be asked, but that the
	// thread was in a check of the agent, in a walk, or on another stack. Result is what it returned, an error code if not
	// positive; Frames are the top one first. Cut means that there may be more.
	Walked, Busy, Cut bool
	Result            int32
	Frames            []TapFrame
}

// TapStill is a time in which a thread did not run, so that its stack and its shadow were one all the time: its CPU time was the
// same at both ends. Several may begin together, of which a later one ends later.
type TapStill struct {
	TID uint32
	// Overflow, Carrier, Entries and Depth are those of a TapCall.
	Overflow, Carrier bool
	Entries           []uint32
	Depth             uint32
	// SinceNanos and UntilNanos are CLOCK_MONOTONIC, with their ticks.
	SinceNanos, UntilNanos uint64
	SinceTicks, UntilTicks uint64
}

// TapFrame is a frame of AsyncGetCallTrace: the id of its method, TapNull or TapUnknown, and its bytecode index as it was returned.
type TapFrame struct {
	Method uint32
	BCI    int32
}

const (
	// TapNull is the method of a frame with a null jmethodID.
	TapNull uint32 = 0
	// TapUnknown is the method of a frame with a jmethodID that no event of the JVM had described 250 ms later.
	TapUnknown uint32 = tapMethods
	// TapAsgctShare is the share of tapped calls in which AsyncGetCallTrace is asked unless something else is chosen: the agent's
	// default.
	TapAsgctShare = 0.05
)

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
	f, err := regular.Open(path)
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
