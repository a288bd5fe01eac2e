package agent

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
)

// tapMostNames bounds the methods that have names, with entries and without: one takes far more memory than its record has bytes. A
// large program has some hundred thousand.
const tapMostNames = 1 << 20

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
		PID:          head.u32(tapPIDOffset),
		Lost:         TapLoss{lost(tapLostBuffers), lost(tapLostFull), lost(tapLostLate), lost(tapLostFile)},
		Names:        map[uint32]string{},
		Methods:      map[uint32]string{},
		Architecture: map[uint32]string{tapAmd64: "amd64", tapArm64: "arm64"}[head.u32(tapArchitectureOffset)],
		Ended:        head.u32(tapFlagsOffset)&tapFlagEnded != 0,
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
		tapStill: tapStillSize,
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
	case tapStill:
		return t.addStill(r)
	case tapName:
		length := int64(r.u32(tapNameLengthOffset))
		if length > int64(len(r)-tapNameSize) {
			return fmt.Errorf("has a name of %d bytes: expected at most %d", length, len(r)-tapNameSize)
		}
		id, names := r.u32(tapNameIDOffset), t.Names
		if id >= tapMethods {
			names = t.Methods
		}
		if _, known := names[id]; !known && len(names) >= tapMostNames {
			return fmt.Errorf("names more than %d methods", tapMostNames)
		}
		names[id] = cString(r[tapNameSize : tapNameSize+length])
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

func (t *Tap) addStill(r tapBytes) error {
	entries := int64(r.u32(tapStillEntriesOffset))
	if room := int64(len(r) - tapStillSize); 4*entries > room {
		return fmt.Errorf("has %d entries: expected less than %d bytes of them", entries, room)
	}
	flags := r.u32(tapStillFlagsOffset)
	s := TapStill{
		TID: r.u32(tapStillTIDOffset), Overflow: flags&tapCallOverflow != 0, Carrier: flags&tapCallCarrier != 0,
		Entries: make([]uint32, entries), Depth: r.u32(tapStillDepthOffset),
		SinceNanos: r.u64(tapStillSinceOffset), UntilNanos: r.u64(tapStillUntilOffset),
		SinceTicks: r.u64(tapStillSinceTicksOffset), UntilTicks: r.u64(tapStillUntilTicksOffset),
	}
	for i := range s.Entries {
		s.Entries[i] = r.u32(tapStillSize + 4*i)
	}
	t.Stills = append(t.Stills, s)
	return nil
}

// tapStates are the states of abi.h by their numbers.
var tapStates = map[uint32]string{
	tapStateInterpreted: "interpreted", tapStateStub: "stub", tapStateCompiled: "compiled", tapStateNative: "native",
}

func (t *Tap) addCall(r tapBytes) error {
	entries, frames := int64(r.u32(tapCallEntriesOffset)), int64(r.u32(tapCallFramesOffset))
	returned := int64(r.u32(tapCallReturnSizeOffset))
	framesAt := tapCallSize + (entries+1)/2*8
	returnAt := framesAt + 8*frames
	if room := int64(len(r)); returnAt+returned > room {
		return fmt.Errorf("has %d entries, %d frames and %d bytes of return code: expected less than %d bytes of them",
			entries, frames, returned, room-tapCallSize)
	}
	code := int64(r.u32(tapCallCodeSizeOffset))
	if code > tapCallCodeBytes {
		return fmt.Errorf("has %d bytes of code: expected at most %d", code, tapCallCodeBytes)
	}
	flags := r.u32(tapCallFlagsOffset)
	has := func(flag uint32) bool { return flags&flag != 0 }
	c := TapCall{
		TID: r.u32(tapCallTIDOffset), Signal: r.u32(tapCallSignalOffset),
		Shadow: has(tapCallShadow), Overflow: has(tapCallOverflow),
		OtherStack: has(tapCallOtherStack), Carrier: has(tapCallCarrier),
		Entries: make([]uint32, entries), Depth: r.u32(tapCallDepthOffset),
		Generation: r.u32(tapCallGenerationOffset), Nested: r.u32(tapCallNestedOffset), Phase: Phase(r.u32(tapCallPhaseOffset)),
		PC: r.u64(tapCallPCOffset), SP: r.u64(tapCallSPOffset), FP: r.u64(tapCallFPOffset),
		EnterNanos: r.u64(tapCallEnterOffset), BeginNanos: r.u64(tapCallBeginOffset), EndNanos: r.u64(tapCallEndOffset),
		BeginTicks: r.u64(tapCallBeginTicksOffset), EndTicks: r.u64(tapCallEndTicksOffset),
		Code: slices.Clone(r[tapCallCodeOffset : tapCallCodeOffset+code]), TopState: tapStates[r.u32(tapCallStateOffset)],
		Compiled: r.u32(tapCallCompiledOffset), ReturnAt: r.u64(tapCallReturnAtOffset), ReturnCopied: has(tapCallReturnCopied),
		Walked: has(tapCallWalked), Busy: has(tapCallBusy), Cut: has(tapCallCut), Result: int32(r.u32(tapCallResultOffset)),
	}
	if r.u64(tapCallReturnPCOffset) != 0 {
		c.ReturnState = tapStates[r.u32(tapCallReturnStateOffset)]
		c.ReturnCode = slices.Clone(r[returnAt : returnAt+returned])
	}
	for i := range c.Entries {
		c.Entries[i] = r.u32(tapCallSize + 4*i)
	}
	if frames > 0 {
		c.Frames = make([]TapFrame, frames)
	}
	for i := range c.Frames {
		at := int(framesAt) + 8*i
		c.Frames[i] = TapFrame{Method: r.u32(at + 4), BCI: int32(r.u32(at))}
	}
	t.Calls = append(t.Calls, c)
	return nil
}
