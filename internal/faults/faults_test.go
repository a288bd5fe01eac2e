package faults

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
)

// logOf returns a log with a header and the given entries.
func logOf(entries ...[]byte) []byte {
	data := make([]byte, fileSize)
	binary.LittleEndian.PutUint64(data, magic)
	binary.LittleEndian.PutUint64(data[32:], uint64(len(entries)))
	for i, e := range entries {
		copy(data[headerSize+i*entrySize:], e)
	}
	return data
}

func entry(kind uint32, walk uint64, name string) []byte {
	e := make([]byte, entrySize)
	binary.LittleEndian.PutUint32(e, kind)
	binary.LittleEndian.PutUint64(e[8:], walk)
	binary.LittleEndian.PutUint32(e[24:], 3)
	binary.LittleEndian.PutUint32(e[40:], uint32(Mismatch))
	copy(e[48:], name)
	copy(e[80:], "missing")
	return e
}

func TestParse(t *testing.T) {
	// An entry that a dying JVM did not complete is ignored.
	l, err := Parse(logOf(entry(kindFault, 7, Swap), entry(0, 0, ""), entry(kindVerdict, 7, "gst-asgct")))
	require.NoError(t, err)
	require.Len(t, l.Faults, 1)
	require.Equal(t, Swap, l.Faults[0].Class)
	require.Equal(t, Verdict{Outcome: Mismatch, Detail: "missing", Reach: 3}, l.Faults[0].Verdicts["gst-asgct"])
	for name, bad := range map[string][]byte{
		"wrong magic number": make([]byte, fileSize),
		"expected":           make([]byte, 3),
		"was not altered":    logOf(entry(kindVerdict, 7, "gst-asgct")),
	} {
		_, err := Parse(bad)
		require.ErrorIs(t, err, ErrLog)
		require.ErrorContains(t, err, name)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(logOf(entry(kindFault, 7, Swap), entry(kindVerdict, 7, "gst-asgct"))[:headerSize+2*entrySize])
	f.Fuzz(func(_ *testing.T, head []byte) {
		data := make([]byte, fileSize)
		copy(data, head)
		_, _ = Parse(data) // an error or a log, never a panic
	})
}
