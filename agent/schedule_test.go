package agent

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func scheduleFile(records int) []byte {
	b := make([]byte, scheduleRecordsOffset+records*scheduleRecordSize)
	le := binary.LittleEndian
	le.PutUint64(b, scheduleMagic)
	le.PutUint64(b[scheduleCapacityOff:], scheduleCapacity)
	le.PutUint64(b[scheduleCountOffset:], uint64(records))
	le.PutUint64(b[scheduleStatsOffset+8*2:], 7)
	le.PutUint64(b[scheduleHistOffset+8*(scheduleBucketsCount+3):], 9)
	return b
}

func TestReadSchedule(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileSchedule)
	write := func(b []byte) { require.NoError(t, os.WriteFile(path, b, 0o600)) }
	write(scheduleFile(3))
	s, err := ReadSchedule(path)
	require.NoError(t, err)
	require.Equal(t, uint64(7), s.Stats[2])
	require.Equal(t, uint64(9), s.Histograms[1][3])
	require.Len(t, s.Records, 3*scheduleRecordSize)
	for name, b := range map[string][]byte{
		"empty": nil, "header only in part": scheduleFile(0)[:100], "another file": make([]byte, 5000),
		"records cut off": scheduleFile(3)[:scheduleRecordsOffset+80],
	} {
		write(b)
		_, err := ReadSchedule(path)
		require.ErrorIs(t, err, ErrStatus, name)
	}
	_, err = ReadSchedule(path + "x")
	require.ErrorIs(t, err, os.ErrNotExist)
}

func FuzzReadSchedule(f *testing.F) {
	f.Add(scheduleFile(0))
	f.Add(scheduleFile(2))
	f.Fuzz(func(t *testing.T, b []byte) {
		path := filepath.Join(t.TempDir(), FileSchedule)
		require.NoError(t, os.WriteFile(path, b, 0o600))
		if s, err := ReadSchedule(path); err == nil {
			require.LessOrEqual(t, len(s.Records), len(b))
		}
	})
}
