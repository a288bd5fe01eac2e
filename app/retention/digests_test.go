package retention

import (
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// A set has what was added, in memory or in its file, and nothing else.
func TestDigestSet(t *testing.T) {
	onDisk := 0
	rapid.Check(t, func(t *rapid.T) {
		s := &digestSet{}
		have := map[uint64]bool{}
		for range rapid.IntRange(1, 4).Draw(t, "rounds") {
			// Few parts, so that their pages are written.
			first := rapid.Uint64Range(0, 5).Draw(t, "part") << 56
			from := rapid.Uint64Range(0, 3000).Draw(t, "from")
			for i := range rapid.Uint64Range(0, 4000).Draw(t, "digests") {
				d := first + (from+i)%5000*2
				s.add(d)
				have[d] = true
			}
			for d := range have {
				require.True(t, s.has(d))
				require.False(t, s.has(d+1))
			}
		}
		if s.file != nil {
			onDisk++
			require.NoFileExists(t, s.file.Name(), "nothing is left when the process ends")
		}
		require.NoError(t, s.failure())
		require.NoError(t, s.close())
	})
	assert.Positive(t, onDisk)
}

// A digest that comes again and again needs no file.
func TestDigestSetOfFew(t *testing.T) {
	s := &digestSet{}
	for range 100_000 {
		s.add(7)
	}
	assert.Nil(t, s.file)
	assert.True(t, s.has(7))
	require.NoError(t, s.close())
}

// A set that cannot be read has everything: what may be needed is not removed. The sweep fails afterwards.
func TestDigestSetThatFails(t *testing.T) {
	t.Run("writing", func(t *testing.T) {
		t.Setenv("TMPDIR", "/nowhere")
		s := &digestSet{}
		for i := range uint64(10 * digestPage) {
			s.add(i)
		}
		assert.True(t, s.has(1<<40))
		require.ErrorContains(t, s.failure(), "/nowhere")
		require.NoError(t, s.close())
	})
	t.Run("reading", func(t *testing.T) {
		s := &digestSet{}
		for i := range uint64(10 * digestPage) {
			s.add(i)
		}
		require.NoError(t, s.file.Truncate(100))
		assert.True(t, s.has(1<<40))
		require.Error(t, s.failure())
		require.NoError(t, s.close())
	})
}

func TestDamagedSegmentIsMadeAgain(t *testing.T) {
	path := segmentPath(t.TempDir(), "C1", 7)
	s := &segment{
		segmentKey: segmentKey{Schema: schema(), After: 7, Aged: 9, Running: true},
		Last:       20, LastIndex: 3, LastEnded: -5, Trials: 4,
		digests: []uint64{1, 1 << 63},
	}
	require.NoError(t, writeSegment(path, s))
	assert.Equal(t, s, readSegment(path))
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	for i := range whole {
		damaged := slices.Clone(whole)
		damaged[i] ^= 1
		require.NoError(t, os.WriteFile(path, damaged, 0o644))
		require.Nil(t, readSegment(path), "byte %d", i)
		require.NoError(t, os.WriteFile(path, whole[:i], 0o644))
		require.Nil(t, readSegment(path), "%d bytes", i)
	}
	assert.Nil(t, readSegment(path+".none"))
}
