package altered

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"misstep/recipe"
)

// Offsets of fields of a chunk's header (HotSpot jfrChunkWriter.cpp).
const (
	atSize, atConstants, atMetadata, atStart, atDuration, atTicks, atFrequency = 8, 16, 24, 32, 40, 48, 56
	headerSize                                                                 = 68
)

// Split returns the chunks of a recording, which share its memory.
func Split(data []byte) (chunks [][]byte, err error) {
	for len(data) > 0 {
		if len(data) < headerSize {
			return nil, fmt.Errorf("split the recording: %d bytes after its last chunk", len(data))
		}
		size := binary.BigEndian.Uint64(data[atSize:])
		if size < headerSize || size > uint64(len(data)) {
			return nil, fmt.Errorf("split the recording: a chunk of %d bytes, but %d are left", size, len(data))
		}
		chunks = append(chunks, data[:size])
		data = data[size:]
	}
	return chunks, nil
}

// Bytes is a change of the bytes of a recording of two chunks or more.
type Bytes struct {
	Class string
	// Apply changes the chunks in place, and returns those of the changed recording.
	Apply func(r *rand.Rand, chunks [][]byte) ([][]byte, error)
	// Kind of the mismatch that says what was changed, empty where nothing in the recording contradicts the change. Type is that of
	// the constants or events, empty for a chunk.
	Kind, Type string
}

const symbolType = "jdk.types.Symbol"

// OfBytes are the changes of the bytes of a recording.
var OfBytes = []Bytes{
	{"a constant is removed", func(r *rand.Rand, c [][]byte) ([][]byte, error) {
		one, _, err := pair(r, c[0])
		if err == nil {
			one[len(one)-1] ^= 0x40
		}
		return c, err
	}, recipe.KindUndefinedConstant, symbolType},
	{"two constants get one id", func(r *rand.Rand, c [][]byte) ([][]byte, error) {
		one, other, err := pair(r, c[0])
		copy(other, one)
		return c, err
	}, recipe.KindDuplicateID, symbolType},
	// A chunk says of each id once what it is: when two constants of one type exchange their ids, nothing contradicts them.
	{"two constants exchange their ids", func(r *rand.Rand, c [][]byte) ([][]byte, error) {
		one, other, err := pair(r, c[0])
		was := slices.Clone(one)
		copy(one, other)
		copy(other, was)
		return c, err
	}, "", ""},
	{"the place of the constants is another chunk's", func(_ *rand.Rand, c [][]byte) ([][]byte, error) {
		copy(c[1][atConstants:], c[0][atConstants:atConstants+8])
		return c, nil
	}, recipe.KindChunkLayout, ""},
	{"the order of the chunks", func(_ *rand.Rand, c [][]byte) ([][]byte, error) {
		c[0], c[1] = c[1], c[0]
		return c, nil
	}, recipe.KindChunkOrder, ""},
	{"a chunk twice", func(_ *rand.Rand, c [][]byte) ([][]byte, error) {
		return slices.Insert(c, 1, c[0]), nil
	}, recipe.KindChunkOrder, ""},
	{"size too small", header(0, atSize, -1), recipe.KindChunkLayout, ""},
	{"size too large", header(0, atSize, 1), recipe.KindChunkLayout, ""},
	// Behind the event's size, which has four bytes.
	{"metadata elsewhere", header(0, atMetadata, 4), recipe.KindChunkLayout, ""},
	{"a checkpoint's size", func(_ *rand.Rand, c [][]byte) ([][]byte, error) {
		c[0][binary.BigEndian.Uint64(c[0][atConstants:])] ^= 1
		return c, nil
	}, recipe.KindChunkLayout, ""},
	{"duration too short", func(_ *rand.Rand, c [][]byte) ([][]byte, error) {
		add(c[0], atDuration, -int64(binary.BigEndian.Uint64(c[0][atDuration:])/2))
		return c, nil
	}, recipe.KindEventTime, "jdk.ObjectAllocationSample"},
	{"duration too long", header(0, atDuration, 1), recipe.KindChunkOrder, ""},
	{"negative duration", header(0, atDuration, -int64(time.Hour)), recipe.KindChunkOrder, ""},
	{"start too early", header(1, atStart, -1), recipe.KindChunkOrder, ""},
	{"ticks too late", header(0, atTicks, int64(100*time.Millisecond)), recipe.KindEventTime, "jdk.ActiveSetting"},
	{"no frequency", func(_ *rand.Rand, c [][]byte) ([][]byte, error) {
		clear(c[0][atFrequency : atFrequency+8])
		return c, nil
	}, recipe.KindChunkOrder, ""},
}

// header returns a change of a number in the header of one chunk.
func header(chunk, at int, difference int64) func(*rand.Rand, [][]byte) ([][]byte, error) {
	return func(_ *rand.Rand, c [][]byte) ([][]byte, error) {
		add(c[chunk], at, difference)
		return c, nil
	}
}

func add(chunk []byte, at int, difference int64) {
	binary.BigEndian.PutUint64(chunk[at:], binary.BigEndian.Uint64(chunk[at:])+uint64(difference))
}

// symbol is the definition of a symbol: its id, the encoding (3: UTF-8), the length (one byte), the text. The id is in the bytes
// from begin to end.
type symbol struct{ begin, end int }

// anchors are texts of symbols in every recording of a workload; pools hold others behind them.
var anchors = []string{"repetition", "invoke", "hashCode", "append", "valueOf"}

// pools returns the symbols that follow an anchor in a pool, at least three each.
func pools(chunk []byte) (all [][]symbol) {
	for _, text := range anchors {
		first := append([]byte{3, byte(len(text))}, text...)
		for from := 0; ; {
			found := bytes.Index(chunk[from:], first)
			if found < 0 {
				break
			}
			from += found + len(first)
			if list := symbols(chunk, from); len(list) >= 3 {
				all = append(all, list)
			}
		}
	}
	return all
}

// symbols returns those that stand one behind the other from a place on.
func symbols(chunk []byte, from int) (list []symbol) {
	for at := from; ; {
		s := symbol{at, at}
		for s.end < len(chunk) && chunk[s.end] >= 0x80 {
			s.end++
		}
		s.end++
		if s.end+1 >= len(chunk) || chunk[s.end] != 3 || chunk[s.end+1] >= 0x80 || s.end-s.begin > 9 {
			return list
		}
		list = append(list, s)
		at = s.end + 2 + int(chunk[s.end+1])
	}
}

var errNoPair = errors.New("alter the constants: no pool has two symbols with ids of one length behind a text that is known")

// pair returns the ids of two symbols of one pool that have the same number of bytes.
func pair(r *rand.Rand, chunk []byte) (one, other []byte, err error) {
	type ids struct{ one, other symbol }
	var all []ids
	for _, list := range pools(chunk) {
		for i, s := range list[1:] {
			if s.end-s.begin == list[i].end-list[i].begin {
				all = append(all, ids{list[i], s})
			}
		}
	}
	if len(all) == 0 {
		return nil, nil, errNoPair
	}
	p := all[r.IntN(len(all))]
	return chunk[p.one.begin:p.one.end], chunk[p.other.begin:p.other.end], nil
}
