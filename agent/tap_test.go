package agent

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	misstepv1 "misstep/proto/misstep/v1"
)

// tapRecord makes a record of 32-bit words and text, filled up to a multiple of 8 bytes.
func tapRecord(kind uint32, size int, fields map[int]uint64, text []byte) []byte {
	r := make([]byte, (size+len(text)+7)/8*8)
	for at, v := range fields {
		if at%8 == 0 && v > 1<<32-1 {
			binary.LittleEndian.PutUint64(r[at:], v)
		} else {
			binary.LittleEndian.PutUint32(r[at:], uint32(v))
		}
	}
	copy(r[size:], text)
	binary.LittleEndian.PutUint32(r, uint32(len(r)))
	binary.LittleEndian.PutUint32(r[4:], kind)
	return r
}

func tapFile(records ...[]byte) []byte {
	data := make([]byte, tapHeader)
	binary.LittleEndian.PutUint64(data[tapMagicOffset:], tapMagic)
	binary.LittleEndian.PutUint32(data[tapVersionOffset:], tapVersion)
	binary.LittleEndian.PutUint32(data[tapPIDOffset:], 4711)
	binary.LittleEndian.PutUint32(data[tapFlagsOffset:], tapFlagEnded)
	binary.LittleEndian.PutUint32(data[tapArchitectureOffset:], tapArm64)
	binary.LittleEndian.PutUint32(data[tapSignalsOffset:], 27)
	binary.LittleEndian.PutUint64(data[tapCallsOffset:], 3)
	binary.LittleEndian.PutUint64(data[tapLostOffset+8*tapLostLate:], 1)
	for _, r := range records {
		data = append(data, r...)
	}
	return data
}

// moment has what tapMoment says of a call.
func moment() map[int]uint64 {
	return map[int]uint64{
		tapCallFlagsOffset: tapCallShadow | tapCallWalked | tapCallCut | tapCallReturnCopied, tapCallEntriesOffset: 1,
		tapCallCodeOffset: 0xc3, tapCallCodeSizeOffset: 2, tapCallReturnSizeOffset: 3, tapCallReturnAtOffset: 6 << 40,
		tapCallReturnPCOffset: 7 << 40, tapCallStateOffset: tapStateCompiled, tapCallReturnStateOffset: tapStateInterpreted,
		tapCallCompiledOffset: tapMethods + 1, tapCallResultOffset: 2, tapCallFramesOffset: 2, tapCallBeginOffset: 1,
	}
}

// tapMoment is a call with frames of AsyncGetCallTrace and what ran there.
func tapMoment(fields map[int]uint64) []byte {
	var rest []byte
	for _, word := range []uint32{7, 0, 11, tapMethods + 1, 1<<32 - 3, TapNull} {
		rest = binary.LittleEndian.AppendUint32(rest, word)
	}
	return tapRecord(tapCall, tapCallSize, fields, append(rest, 1, 2, 3))
}

func tapCallOf(tid uint32, begin uint64, ids ...uint32) []byte {
	var entries []byte
	for _, id := range ids {
		entries = binary.LittleEndian.AppendUint32(entries, id)
	}
	return tapRecord(tapCall, tapCallSize, map[int]uint64{
		tapCallTIDOffset: uint64(tid), tapCallSignalOffset: 27, tapCallFlagsOffset: tapCallShadow | tapCallCarrier,
		tapCallEntriesOffset: uint64(len(ids)), tapCallDepthOffset: uint64(len(ids)) + 1, tapCallGenerationOffset: 2,
		tapCallNestedOffset: 1, tapCallPhaseOffset: phaseCheck, tapCallPCOffset: 1 << 40, tapCallSPOffset: 2 << 40,
		tapCallFPOffset: 3 << 40, tapCallEnterOffset: begin - 1, tapCallBeginOffset: begin, tapCallEndOffset: begin + 5,
		tapCallBeginTicksOffset: 4 << 40, tapCallEndTicksOffset: 5 << 40,
	}, entries)
}

func wholeTap() []byte {
	return tapFile(
		tapCallOf(8, 30, 1, 2, 3),
		tapRecord(tapName, tapNameSize, map[int]uint64{tapNameIDOffset: 3, tapNameLengthOffset: 7}, []byte("C.m()V!")),
		tapRecord(tapClock, tapClockSize, map[int]uint64{
			tapClockMonotonicOffset: 10, tapClockRealtimeOffset: 1010, tapClockTicksOffset: 7, tapClockTookOffset: 2,
		}, nil),
		tapCallOf(7, 40),
		tapRecord(tapClock, tapClockSize, map[int]uint64{tapClockMonotonicOffset: 30, tapClockRealtimeOffset: 1050}, nil),
		tapRecord(tapHandler, tapHandlerSize, map[int]uint64{
			tapHandlerSignalOffset: 27, tapHandlerGenerationOffset: 2, tapHandlerNanosOffset: 9, tapHandlerAddressOffset: 1 << 41,
			tapHandlerSaFlagsOffset: 4,
		}, nil),
		tapCallOf(7, 20, 9),
		tapRecord(tapStill, tapStillSize, map[int]uint64{
			tapStillTIDOffset: 7, tapStillFlagsOffset: tapCallShadow | tapCallCarrier, tapStillEntriesOffset: 2,
			tapStillDepthOffset: 3, tapStillSinceOffset: 50, tapStillUntilOffset: 60, tapStillSinceTicksOffset: 150, tapStillUntilTicksOffset: 180,
		}, []byte{4, 0, 0, 0, 5, 0, 0, 0}),
	)
}

func TestParseTap(t *testing.T) {
	got, err := ParseTap(append(wholeTap(), 1, 2, 3))
	require.NoError(t, err)
	call := func(tid uint32, begin uint64, ids ...uint32) TapCall {
		return TapCall{
			TID: tid, Signal: 27, Shadow: true, Carrier: true, Entries: append([]uint32{}, ids...), Depth: uint32(len(ids)) + 1,
			Generation: 2, Nested: 1, Phase: PhaseCheck, PC: 1 << 40, SP: 2 << 40, FP: 3 << 40,
			EnterNanos: begin - 1, BeginNanos: begin, EndNanos: begin + 5, BeginTicks: 4 << 40, EndTicks: 5 << 40, Code: []byte{},
		}
	}
	require.Equal(t, Tap{
		PID: 4711, Signals: [2]uint32{27}, Called: [2]uint64{3}, Lost: TapLoss{Late: 1},
		Calls:    []TapCall{call(7, 20, 9), call(7, 40), call(8, 30, 1, 2, 3)},
		Names:    map[uint32]string{3: "C.m()V!"},
		Methods:  map[uint32]string{},
		Clocks:   []TapClock{{10, 1010, 7, 2}, {30, 1050, 0, 0}},
		Handlers: []TapHandler{{27, 2, 9, 1 << 41, 4}},
		Stills: []TapStill{{
			TID: 7, Carrier: true, Entries: []uint32{4, 5}, Depth: 3, SinceNanos: 50, UntilNanos: 60,
			SinceTicks: 150, UntilTicks: 180,
		}},
		Ended: true, Cut: 3, Architecture: "arm64",
	}, got)
	require.EqualValues(t, 1, got.Lost.Sum())
	require.EqualValues(t, 1005, got.Realtime(5), "before the first clock")
	require.EqualValues(t, 1030, got.Realtime(20), "half way between 1000 and 1020 ahead")
	require.EqualValues(t, 1060, got.Realtime(40), "after the last clock")
	require.Zero(t, (&Tap{}).Realtime(5))
}

func TestReadTapRefusesOtherFiles(t *testing.T) {
	changed := func(at int, v byte) []byte {
		data := wholeTap()
		data[at] = v
		return data
	}
	for message, data := range map[string][]byte{
		"shorter than a header":        wholeTap()[:100],
		"wrong magic number":           changed(0, 0),
		"expected version 3, got 9":    changed(tapVersionOffset, 9),
		"expected a multiple of 8":     changed(tapHeader, 9),
		"unknown kind 99":              changed(tapHeader+4, 99),
		"of the unknown kind 5":        changed(tapHeader+4, tapPending),
		"expected at least":            changed(tapHeader, 16),
		"has 5 entries, 0 frames":      changed(tapHeader+tapCallEntriesOffset, 5),
		"has 3 entries, 1 frames":      changed(tapHeader+tapCallFramesOffset, 1),
		"and 1 bytes of return code":   changed(tapHeader+tapCallReturnSizeOffset, 1),
		"has 17 bytes of code":         changed(tapHeader+tapCallCodeSizeOffset, 17),
		"has 2 entries: expected less": tapFile(tapRecord(tapStill, tapStillSize, map[int]uint64{tapStillEntriesOffset: 2}, nil)),
		"a name of 9 bytes: expected ": changed(tapHeader+tapCallSize+16+tapNameLengthOffset, 9),
	} {
		path := filepath.Join(t.TempDir(), FileTap)
		require.NoError(t, os.WriteFile(path, data, 0o600))
		_, err := ReadTap(path)
		require.ErrorIs(t, err, ErrTap)
		require.ErrorContains(t, err, message)
		require.ErrorContains(t, err, path)
	}
	_, err := ReadTap(filepath.Join(t.TempDir(), FileTap))
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestNamesOfATapAreBounded(t *testing.T) {
	var records [][]byte
	for id := range uint64(tapMostNames) {
		records = append(records, tapRecord(tapName, tapNameSize, map[int]uint64{tapNameIDOffset: id}, nil))
	}
	got, err := ParseTap(tapFile(records...))
	require.NoError(t, err)
	require.Len(t, got.Names, tapMostNames)
	again := tapRecord(tapName, tapNameSize, map[int]uint64{tapNameIDOffset: 0}, nil)
	_, err = ParseTap(tapFile(append(records, again)...))
	require.NoError(t, err, "a name that is known")
	further := tapRecord(tapName, tapNameSize, map[int]uint64{tapNameIDOffset: tapMostNames}, nil)
	_, err = ParseTap(tapFile(append(records, further)...))
	require.ErrorIs(t, err, ErrTap)
	require.ErrorContains(t, err, "names more than 1048576 methods")
}

// What triage needs is in a mismatch's fields, and both walks in its traces.
func TestTapGivesEvidence(t *testing.T) {
	named := func(id uint64, text string) []byte {
		return tapRecord(tapName, tapNameSize, map[int]uint64{
			tapNameIDOffset: id, tapNameLengthOffset: uint64(len(text)),
		}, []byte(text))
	}
	tap, err := ParseTap(tapFile(tapMoment(moment()), named(7, "p/Hidden.0x12.run(I)V"), named(tapMethods+1, "p/A.f()[Lp/B;")))
	require.NoError(t, err)
	c := tap.Calls[0]
	require.Equal(t, "p/A.f()[Lp/B;", tap.Methods[c.Compiled])
	require.True(t, c.Walked && c.Cut)
	var m misstepv1.Mismatch
	tap.Place(c, &m)
	m.Reference, m.Suspect = tap.ShadowTrace(c), tap.WalkTrace(c)
	want := &misstepv1.Mismatch{
		Code: []byte{0xc3, 0}, TopState: "compiled", ReturnAt: 6 << 40, ReturnState: "interpreted", ReturnCode: []byte{1, 2, 3},
		ReturnCopied: true, Architecture: "arm64",
		Reference: &misstepv1.Trace{Source: "shadow", NumFrames: 1, Frames: []*misstepv1.Frame{
			{ClassName: "p.Hidden.0x12", Method: "run", Descriptor_: "(I)V"},
		}},
		Suspect: &misstepv1.Trace{Source: "asgct", NumFrames: 2, Frames: []*misstepv1.Frame{
			{ClassName: "p.A", Method: "f", Descriptor_: "()[Lp/B;", Bci: 11}, {ClassName: "?", Method: "null", Bci: -3},
		}},
	}
	require.True(t, proto.Equal(want, &m), "%v", &m)
	tap, err = ParseTap(tapFile(tapCallOf(1, 2)))
	require.NoError(t, err)
	require.Nil(t, tap.WalkTrace(tap.Calls[0]))
}

func FuzzParseTap(f *testing.F) {
	f.Add(wholeTap())
	f.Add(tapFile(tapCallOf(1, 2)))
	f.Add(tapFile(tapMoment(moment())))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := ParseTap(data)
		if err != nil {
			require.ErrorIs(t, err, ErrTap)
			return
		}
		require.LessOrEqual(t, len(got.Calls)*tapCallSize+got.Cut, len(data))
	})
}
