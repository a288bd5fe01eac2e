package agent

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// record makes a flight record's bytes with something in every kind of field.
func record() []byte {
	data := make([]byte, statusFileSize)
	u32 := func(at int, v uint32) { binary.LittleEndian.PutUint32(data[at:], v) }
	u64 := func(at int, v uint64) { binary.LittleEndian.PutUint64(data[at:], v) }
	u64(statusMagicOffset, statusMagic)
	u32(statusVersionOffset, ABIVersion)
	u32(statusSizeOffset, statusFileSize)
	u32(statusPidOffset, 4711)
	u32(statusFlagsOffset, statusFlagStarted|statusFlagEnded)
	u64(statusSentOffset, 10)
	u64(statusDeliveredOffset, 9)
	u64(statusAnsweredOffset, 8)
	u64(statusInstrumentedOff, 7)
	at := statusHeader + 2*checkSize
	copy(data[at:], "asgct-shadow")
	u64(at+checkTotalOffset, 10)
	u64(at+checkMatchOffset, 4)
	u64(at+checkMismatchOffset, 1)
	u64(at+checkUnwalkableOffset+5*8, 2)
	copy(data[at+checkToleratedOffset:], "push-pop-window")
	u64(at+checkToleratedOffset+checkNamedSize-8, 2)
	copy(data[at+checkToleratedOffset+checkNamedSize:], "never-fired")
	copy(data[at+checkVoidOffset:], "lost")
	u64(at+checkVoidOffset+checkNamedSize-8, 1)
	at = statusHeader + checkCount*checkSize + 3*threadSize
	u32(at+threadTIDOffset, 99)
	u32(at+threadPhaseOffset, phaseWalk)
	u64(at+threadEnterOffset, 123)
	u64(at+threadSequenceOffset, 5)
	u64(at+threadPCOffset, 0x7f00)
	u64(at+threadSPOffset, 0x7fff)
	return data
}

func TestReadStatus(t *testing.T) {
	path := filepath.Join(t.TempDir(), "status.bin")
	require.NoError(t, os.WriteFile(path, record(), 0o644))
	s, err := ReadStatus(path)
	require.NoError(t, err)
	require.True(t, s.Started)
	require.True(t, s.Ended)
	require.Equal(t, uint32(4711), s.PID)
	require.Equal(t, []uint64{10, 9, 8, 7}, []uint64{s.Sent, s.Delivered, s.Answered, s.Instrumented})
	require.Equal(t, CheckCount{
		Name: "asgct-shadow", Total: 10, Match: 4, Mismatch: 1,
		Tolerated:  map[string]uint64{"push-pop-window": 2},
		Unwalkable: map[int32]uint64{-5: 2},
		Void:       map[string]uint64{"lost": 1},
	}, s.Checks[2])
	require.Equal(t, s.Checks[2].Total, s.Checks[2].Verdicts())
	require.Equal(t, []ThreadSlot{{TID: 99, Phase: PhaseWalk, EnterNanos: 123, Sequence: 5, PC: 0x7f00, SP: 0x7fff}}, s.Threads)
}

func TestReadStatusRefuses(t *testing.T) {
	dir := t.TempDir()
	for name, data := range map[string][]byte{
		"empty":   {},
		"short":   record()[:100],
		"long":    append(record(), 0),
		"zero":    make([]byte, statusFileSize),
		"version": func() []byte { d := record(); d[statusVersionOffset]++; return d }(),
		"size":    func() []byte { d := record(); d[statusSizeOffset]++; return d }(),
	} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, data, 0o644))
		_, err := ReadStatus(path)
		require.ErrorIs(t, err, ErrStatus, name)
		require.ErrorContains(t, err, path)
	}
	_, err := ReadStatus(filepath.Join(dir, "missing"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

func FuzzParseStatus(f *testing.F) {
	f.Add(record(), uint16(0), byte(0))
	f.Add([]byte{}, uint16(0), byte(0))
	f.Fuzz(func(t *testing.T, data []byte, at uint16, value byte) {
		if _, err := ParseStatus(data); err != nil {
			require.ErrorIs(t, err, ErrStatus)
		}
		// Most mutations of the bytes are refused at once: also change one byte of a sound record.
		sound := record()
		sound[int(at)%len(sound)] = value
		s, err := ParseStatus(sound)
		if err != nil {
			return
		}
		require.Len(t, s.Checks, checkCount)
		require.LessOrEqual(t, len(s.Threads), threadCount)
		for _, c := range s.Checks {
			_ = c.Verdicts()
		}
	})
}
