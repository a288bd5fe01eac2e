package chunks_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"misstep/recipe"
)

// Offsets of fields of a chunk's header (HotSpot jfrChunkWriter.cpp).
const (
	atSize, atConstants, atMetadata, atStart, atDuration, atTicks, atFrequency = 8, 16, 24, 32, 40, 48, 56
)

// split returns the chunks of a recording.
func split(t *testing.T, data []byte) [][]byte {
	t.Helper()
	var out [][]byte
	for len(data) > 0 {
		size := binary.BigEndian.Uint64(data[atSize:])
		require.LessOrEqual(t, size, uint64(len(data)))
		out = append(out, data[:size])
		data = data[size:]
	}
	return out
}

// add changes a field of a chunk's header.
func add(chunk []byte, at int, difference int64) {
	binary.BigEndian.PutUint64(chunk[at:], binary.BigEndian.Uint64(chunk[at:])+uint64(difference))
}

// symbol is the definition of a symbol: its id, the encoding (3: UTF-8), the length (one byte), the text. The id is in the bytes
// from begin to end.
type symbol struct{ begin, end int }

// symbols returns those that follow a symbol with a string in a pool, at least three.
func symbols(t *testing.T, chunk []byte, text string) []symbol {
	t.Helper()
	first := append([]byte{3, byte(len(text))}, text...)
	for from := 0; ; {
		found := bytes.Index(chunk[from:], first)
		require.GreaterOrEqual(t, found, 0, "no pool has the symbol %s and three that follow it", text)
		from += found + len(first)
		var out []symbol
		for at := from; ; {
			s := symbol{at, at}
			for chunk[s.end] >= 0x80 {
				s.end++
			}
			s.end++
			if chunk[s.end] != 3 || chunk[s.end+1] >= 0x80 || s.end-s.begin > 9 {
				break
			}
			out = append(out, s)
			at = s.end + 2 + int(chunk[s.end+1])
		}
		if len(out) >= 3 {
			return out
		}
	}
}

// pair returns two symbols whose ids have the same number of bytes.
func pair(t *testing.T, chunk []byte) (one, other []byte) {
	t.Helper()
	list := symbols(t, chunk, "repetition")
	for _, s := range list[1:] {
		if s.end-s.begin == list[0].end-list[0].begin {
			return chunk[list[0].begin:list[0].end], chunk[s.begin:s.end]
		}
	}
	require.FailNow(t, "no two symbols have ids of the same length")
	return nil, nil
}

// Each change of bytes of a real recording is found, as what it is.
func TestChangedBytesAreFound(t *testing.T) {
	h := helper(t)
	data, err := os.ReadFile(record(t, catalogued(t, "jdk25"), "mix"))
	require.NoError(t, err)
	require.Greater(t, len(split(t, data)), 1)
	const symbolType = "jdk.types.Symbol"
	for name, tt := range map[string]struct {
		change func(t *testing.T, chunks [][]byte) [][]byte
		kind   string
		// typeName of the constants or events; empty for a chunk.
		typeName string
	}{
		"a constant is removed": {func(t *testing.T, c [][]byte) [][]byte {
			one, _ := pair(t, c[0])
			one[len(one)-1] ^= 0x40
			return c
		}, recipe.KindUndefinedConstant, symbolType},
		"two constants get one id": {func(t *testing.T, c [][]byte) [][]byte {
			one, other := pair(t, c[0])
			copy(other, one)
			return c
		}, recipe.KindDuplicateID, symbolType},
		"the place of the constants is another chunk's": {func(_ *testing.T, c [][]byte) [][]byte {
			copy(c[1][atConstants:], c[0][atConstants:atConstants+8])
			return c
		}, recipe.KindChunkLayout, ""},
		"the order of the chunks": {func(_ *testing.T, c [][]byte) [][]byte {
			c[0], c[1] = c[1], c[0]
			return c
		}, recipe.KindChunkOrder, ""},
		"a chunk twice": {func(_ *testing.T, c [][]byte) [][]byte { return slices.Insert(c, 1, c[0]) }, recipe.KindChunkOrder, ""},
		"size too small": {func(_ *testing.T, c [][]byte) [][]byte {
			add(c[0], atSize, -1)
			return c
		}, recipe.KindChunkLayout, ""},
		"size too large": {func(_ *testing.T, c [][]byte) [][]byte {
			add(c[0], atSize, 1)
			return c
		}, recipe.KindChunkLayout, ""},
		"metadata elsewhere": {func(_ *testing.T, c [][]byte) [][]byte {
			add(c[0], atMetadata, 4) // behind the event's size, which has four bytes
			return c
		}, recipe.KindChunkLayout, ""},
		"a checkpoint's size": {func(_ *testing.T, c [][]byte) [][]byte {
			c[0][binary.BigEndian.Uint64(c[0][atConstants:])] ^= 1
			return c
		}, recipe.KindChunkLayout, ""},
		"duration too short": {func(_ *testing.T, c [][]byte) [][]byte {
			add(c[0], atDuration, -int64(binary.BigEndian.Uint64(c[0][atDuration:])/2))
			return c
		}, recipe.KindEventTime, "jdk.ObjectAllocationSample"},
		"duration too long": {func(_ *testing.T, c [][]byte) [][]byte {
			add(c[0], atDuration, 1)
			return c
		}, recipe.KindChunkOrder, ""},
		"negative duration": {func(_ *testing.T, c [][]byte) [][]byte {
			add(c[0], atDuration, -int64(time.Hour))
			return c
		}, recipe.KindChunkOrder, ""},
		"start too early": {func(_ *testing.T, c [][]byte) [][]byte {
			add(c[1], atStart, -1)
			return c
		}, recipe.KindChunkOrder, ""},
		"ticks too late": {func(_ *testing.T, c [][]byte) [][]byte {
			add(c[0], atTicks, int64(100*time.Millisecond))
			return c
		}, recipe.KindEventTime, "jdk.ActiveSetting"},
		"no frequency": {func(_ *testing.T, c [][]byte) [][]byte {
			clear(c[0][atFrequency : atFrequency+8])
			return c
		}, recipe.KindChunkOrder, ""},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "changed.jfr")
			changed := bytes.Join(tt.change(t, split(t, slices.Clone(data))), nil)
			require.NoError(t, os.WriteFile(file, changed, 0o600))
			v, _ := judgedFiles(t, h, file)
			found := false
			for _, m := range v.Mismatches {
				found = found || m.GetKind() == tt.kind && m.GetRecordingFault().GetType() == tt.typeName
			}
			require.True(t, found, "want %s of %q, got %v", tt.kind, tt.typeName, v.Mismatches)
		})
	}
}

// A chunk says of each id once what it is: when two constants of one type exchange their ids, nothing contradicts them.
func TestExchangedIDsAreNotSeen(t *testing.T) {
	h := helper(t)
	data, err := os.ReadFile(record(t, catalogued(t, "jdk25"), "mix"))
	require.NoError(t, err)
	first := split(t, data)[0]
	one, other := pair(t, first)
	was := slices.Clone(one)
	copy(one, other)
	copy(other, was)
	require.NotEqual(t, one, other)
	file := filepath.Join(t.TempDir(), "exchanged.jfr")
	require.NoError(t, os.WriteFile(file, first, 0o600))
	v, _ := judgedFiles(t, h, file)
	for _, m := range v.Mismatches {
		t.Logf("%v", m)
	}
	require.Empty(t, v.Mismatches)
}
