package agent

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"misstep/internal/regular"
)

// ErrStatus is wrapped by errors about a file that is not a flight record of this version of the agent.
var ErrStatus = errors.New("not a flight record of this agent")

// Status is a flight record: the counters of one JVM's agent, read while the JVM runs or after its death.
type Status struct {
	// PID is that of the JVM.
	PID uint32
	// Checks are in the order of the record.
	Checks []CheckCount
	// Sent, Delivered and Answered count the sampler's signals by how far they came; Stray counts signals without a sample to fill.
	Sent, Delivered, Answered, Stray uint64
	// Threads that the agent knows.
	Threads []ThreadSlot
	// Instrumented counts methods; Failed counts classes that could not be instrumented.
	Instrumented, Failed uint64
	// Seconds counts the second signals of brackets, each of which has one first signal; Traced counts the samples of asgct-shadow
	// that were also judged against the trace stack.
	Seconds, Traced uint64
	// Guessed counts walks from words of the stack that might be return addresses (stack scanning); nothing judges them.
	Guessed uint64
	// Virtual counts the samples of asgct-shadow while a virtual thread was mounted, VirtualJudged those of them that were not
	// void, VirtualCut those that lack their bottom.
	Virtual, VirtualJudged, VirtualCut uint64
	// HeartbeatNanos is CLOCK_MONOTONIC at the sampler's last round.
	HeartbeatNanos uint64
	// Started means that checks ran; Ended that the VM shut down in order with everything judged: only then do the verdicts add up
	// exactly to the totals.
	Started, Ended bool
}

// CheckCount counts the verdicts of one check.
type CheckCount struct {
	Name                   string
	Total, Match, Mismatch uint64
	// Tolerated by rule, Unwalkable by ASGCT code, Void by reason; zero counts are left out.
	Tolerated  map[string]uint64
	Unwalkable map[int32]uint64
	Void       map[string]uint64
}

// Verdicts is the sum of all verdicts.
func (c CheckCount) Verdicts() uint64 {
	sum := c.Match + c.Mismatch
	for _, n := range c.Tolerated {
		sum += n
	}
	for _, n := range c.Unwalkable {
		sum += n
	}
	for _, n := range c.Void {
		sum += n
	}
	return sum
}

// Phase is where a thread is in the agent.
type Phase uint32

// Phases of a thread.
const (
	PhaseNone    Phase = phaseNone
	PhaseHandler Phase = phaseHandler
	PhaseWalk    Phase = phaseWalk
	PhaseCheck   Phase = phaseCheck
	PhaseOwnWalk Phase = phaseOwnWalk
	PhaseGuess   Phase = phaseGuess
)

// Walks reports whether a thread in this phase is in a walker, or about to be.
func (p Phase) Walks() bool { return p == PhaseWalk || p == PhaseOwnWalk || p == PhaseGuess }

// Handles reports whether a thread in this phase is in the agent's signal handler.
func (p Phase) Handles() bool { return p == PhaseHandler || p == PhaseWalk || p == PhaseGuess }

// String names the phase as reports show it.
func (p Phase) String() string {
	switch p {
	case PhaseNone:
		return ""
	case PhaseHandler:
		return "handler"
	case PhaseWalk:
		return "walk"
	case PhaseCheck:
		return "check"
	case PhaseOwnWalk:
		return "own-walk"
	case PhaseGuess:
		return "guess"
	}
	return fmt.Sprintf("phase-%d", uint32(p))
}

// ThreadSlot is the state of one thread.
type ThreadSlot struct {
	TID   uint32
	Phase Phase
	// EnterNanos is CLOCK_MONOTONIC when it entered the phase.
	EnterNanos uint64
	// Sequence, PC and SP are those of the current sample.
	Sequence, PC, SP uint64
}

// ReadStatus reads the flight record at path. It reads a bounded number of bytes and validates them.
func ReadStatus(path string) (Status, error) {
	f, err := regular.Open(path)
	if err != nil {
		return Status{}, fmt.Errorf("read flight record: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, statusFileSize+1))
	if err != nil {
		return Status{}, fmt.Errorf("read flight record %s: %w", path, err)
	}
	s, err := ParseStatus(data)
	if err != nil {
		return Status{}, fmt.Errorf("read flight record %s: %w", path, err)
	}
	return s, nil
}

// ParseStatus parses the bytes of a flight record.
func ParseStatus(data []byte) (Status, error) {
	if len(data) != statusFileSize {
		return Status{}, fmt.Errorf("%w: expected %d bytes, got %d", ErrStatus, statusFileSize, len(data))
	}
	u32 := func(at int) uint32 { return binary.LittleEndian.Uint32(data[at:]) }
	u64 := func(at int) uint64 { return binary.LittleEndian.Uint64(data[at:]) }
	if u64(statusMagicOffset) != statusMagic {
		return Status{}, fmt.Errorf("%w: wrong magic number", ErrStatus)
	}
	if v := u32(statusVersionOffset); v != ABIVersion {
		return Status{}, fmt.Errorf("%w: expected version %d, got %d", ErrStatus, ABIVersion, v)
	}
	if n := u32(statusSizeOffset); n != statusFileSize {
		return Status{}, fmt.Errorf("%w: expected size %d, got %d", ErrStatus, statusFileSize, n)
	}
	flags := u32(statusFlagsOffset)
	s := Status{
		PID:            u32(statusPidOffset),
		Sent:           u64(statusSentOffset),
		Delivered:      u64(statusDeliveredOffset),
		Answered:       u64(statusAnsweredOffset),
		Stray:          u64(statusStrayOffset),
		Instrumented:   u64(statusInstrumentedOff),
		Failed:         u64(statusFailedOffset),
		Seconds:        u64(statusSecondOffset),
		Traced:         u64(statusTracedOffset),
		Guessed:        u64(statusGuessedOffset),
		Virtual:        u64(statusVirtualOffset),
		VirtualJudged:  u64(statusVirtualJudged),
		VirtualCut:     u64(statusVirtualCut),
		HeartbeatNanos: u64(statusHeartbeatOffset),
		Started:        flags&statusFlagStarted != 0,
		Ended:          flags&statusFlagEnded != 0,
	}
	for i := range checkCount {
		at := statusHeader + i*checkSize
		s.Checks = append(s.Checks, CheckCount{
			Name:       cString(data[at : at+checkName]),
			Total:      u64(at + checkTotalOffset),
			Match:      u64(at + checkMatchOffset),
			Mismatch:   u64(at + checkMismatchOffset),
			Tolerated:  named(data[at+checkToleratedOffset:], checkToleratedCount),
			Unwalkable: codes(data[at+checkUnwalkableOffset:]),
			Void:       named(data[at+checkVoidOffset:], checkVoidCount),
		})
	}
	for i := range threadCount {
		at := statusHeader + checkCount*checkSize + i*threadSize
		if tid := u32(at + threadTIDOffset); tid != 0 {
			s.Threads = append(s.Threads, ThreadSlot{
				TID:        tid,
				Phase:      Phase(u32(at + threadPhaseOffset)),
				EnterNanos: u64(at + threadEnterOffset),
				Sequence:   u64(at + threadSequenceOffset),
				PC:         u64(at + threadPCOffset),
				SP:         u64(at + threadSPOffset),
			})
		}
	}
	return s, nil
}

func codes(data []byte) map[int32]uint64 {
	counts := map[int32]uint64{}
	for i := range checkUnwalkableCount {
		if n := binary.LittleEndian.Uint64(data[i*8:]); n != 0 {
			counts[int32(-i)] = n
		}
	}
	return counts
}

func named(data []byte, count int) map[string]uint64 {
	counts := map[string]uint64{}
	for i := range count {
		entry := data[i*checkNamedSize : (i+1)*checkNamedSize]
		name := cString(entry[:checkNamedSize-8])
		if n := binary.LittleEndian.Uint64(entry[checkNamedSize-8:]); name != "" && n != 0 {
			counts[name] += n
		}
	}
	return counts
}

func cString(data []byte) string {
	if end := bytes.IndexByte(data, 0); end >= 0 {
		data = data[:end]
	}
	return string(bytes.ToValidUTF8(data, []byte("?")))
}
