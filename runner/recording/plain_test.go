package recording

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"misstep/internal/testenv"
)

// plainWriter writes the chunks of a recording again, with integers that are not compressed.
type plainWriter struct {
	in  cursor
	out []byte
	*described
}

// integer copies an integer, which has so many bytes where it is plain.
func (w *plainWriter) integer(width int) uint64 {
	value := w.in.integer(uint8(width))
	w.out = append(w.out, binary.BigEndian.AppendUint64(nil, value)[longBytes-width:]...)
	return value
}

func (w *plainWriter) integers(widths ...int) {
	for _, width := range widths {
		w.integer(width)
	}
}

func (w *plainWriter) bytes(n uint64) {
	w.out = append(w.out, w.in.data[w.in.at:w.in.at+int(n)]...)
	w.in.skip(int(n))
}

func (w *plainWriter) text() {
	encoding := w.in.data[w.in.at]
	w.bytes(1)
	switch encoding {
	case constantString:
		w.integer(8)
	case utf8String, latin1String:
		w.bytes(w.integer(4))
	case charsString:
		for left := w.integer(4); left > 0; left-- {
			w.integer(2)
		}
	}
}

// element copies an element of the metadata.
func (w *plainWriter) element() {
	w.integer(4)
	for left := 2 * w.integer(4); left > 0; left-- {
		w.integer(4)
	}
	for left := w.integer(4); left > 0; left-- {
		w.element()
	}
}

func (w *plainWriter) value(t *typ) {
	switch t.name {
	case "boolean", "byte":
		w.bytes(1)
	case "char", "short":
		w.integer(2)
	case "int":
		w.integer(4)
	case "long":
		w.integer(8)
	case "float":
		w.bytes(4)
	case "double":
		w.bytes(8)
	case "java.lang.String":
		w.text()
	default:
		w.fields(t)
	}
}

func (w *plainWriter) fields(t *typ) {
	for _, f := range t.fields {
		count := uint64(1)
		if f.array {
			count = w.integer(4)
		}
		for ; count > 0; count-- {
			if f.pooled {
				w.integer(8)
			} else {
				w.value(f.of)
			}
		}
	}
}

// plainOf returns a recording with integers that are not compressed.
func plainOf(t testing.TB, data []byte) (plain []byte) {
	t.Helper()
	for len(data) > 0 {
		h := readHeader(data)
		plain = append(plain, plainChunk(t, h, data[:h.size])...)
		data = data[h.size:]
	}
	return plain
}

func plainChunk(t testing.TB, h header, data []byte) []byte {
	t.Helper()
	require.False(t, h.plain())
	var of file
	require.Nil(t, of.describe(data, h.metadata, false))
	w := plainWriter{described: of.described, out: bytes.Clone(data[:headerBytes])}
	moved := map[int64]int{}
	type link struct{ checkpoint, delta int } // a position in data, and in the plain chunk that of the way to the one before
	var links []link
	events := h.walk(data)
	for events.advance() {
		begin := len(w.out)
		moved[int64(events.position)] = begin
		w.in = cursor{data: data[:events.next], at: events.position}
		w.integers(4, 8) // size, type
		switch events.kind {
		case metadataEvent:
			w.integers(8, 8, 8) // start, duration, id
			for left := w.integer(4); left > 0; left-- {
				w.text()
			}
			w.element()
		case checkpointEvent:
			w.integers(8, 8) // start, duration
			links = append(links, link{events.position, len(w.out)})
			w.integer(8)
			w.bytes(1)
			for pools := w.integer(4); pools > 0; pools-- {
				of := w.types[w.integer(8)]
				for constants := w.integer(4); constants > 0; constants-- {
					w.integer(8)
					w.value(of)
				}
			}
		default:
			w.fields(w.types[events.kind])
		}
		require.Nil(t, w.in.err)
		require.Equal(t, events.next, w.in.at)
		binary.BigEndian.PutUint32(w.out[begin:], uint32(len(w.out)-begin))
	}
	require.Equal(t, len(data), events.next)
	for _, l := range links {
		if delta := int64(binary.BigEndian.Uint64(w.out[l.delta:])); delta != 0 {
			before := moved[int64(l.checkpoint)+delta]
			binary.BigEndian.PutUint64(w.out[l.delta:], uint64(before-moved[int64(l.checkpoint)]))
		}
	}
	for at, to := range map[int]int{8: len(w.out), headerConstants: moved[h.constants], headerMetadata: moved[h.metadata]} {
		binary.BigEndian.PutUint64(w.out[at:], uint64(to))
	}
	w.out[67] &^= compressedIntegers
	return w.out
}

// unplaced are records without what says where in the file they are.
func unplaced(records []Record) []Record {
	for _, r := range records {
		switch r := r.(type) {
		case *Chunk:
			r.Offset, r.Bytes = 0, 0
		case *Fault:
			r.Position = 0
		}
	}
	return records
}

// Chunks with plain integers say what the same ones with compressed integers say, whichever come first, whole and cut off.
func TestParseOfPlainIntegers(t *testing.T) {
	data := forgedRecording()
	plain := plainOf(t, data)
	compressed, problems := parsed(t, slices.Concat(data, data), Limits{})
	require.Empty(t, problems)
	want := unplaced(compressed)
	for _, file := range [][]byte{slices.Concat(plain, plain), slices.Concat(data, plain), slices.Concat(plain, data)} {
		all, problems := parsed(t, file, Limits{})
		require.Empty(t, problems)
		require.Equal(t, want, unplaced(all))
	}
	all, problems := parsed(t, plain[:len(plain)-1], Limits{})
	require.Len(t, problems, 1)
	require.Equal(t, CutFile, problems[0].Kind)
	require.Equal(t, want[1:3], all[2:4], "the setting and the sample before the cut")
	for at := range plain {
		for bit := range 8 {
			damaged := bytes.Clone(plain)
			damaged[at] ^= 1 << bit
			checked(t, damaged)
		}
	}
}

// A JVM's recording with plain integers is read as JMC reads it, and as with compressed ones.
func TestRecordingsOfPlainIntegers(t *testing.T) {
	compressed := record(t, testenv.Catalogued(t, "jdk17"), 300, "-XX:TLABSize=2k", "-XX:-ResizeTLAB")
	data, err := os.ReadFile(compressed)
	require.NoError(t, err)
	plain := filepath.Join(t.TempDir(), "plain.jfr")
	require.NoError(t, os.WriteFile(plain, plainOf(t, data), 0o600))
	was, own := recordsOf(t, Parse, compressed), recordsOf(t, Parse, plain)
	require.Zero(t, own.summary.Problems)
	require.Equal(t, was.summary, own.summary)
	jmc := recordsOf(t, readers(t)["helper"], plain)
	jmc.in = slices.DeleteFunc(jmc.in, func(r Record) bool {
		_, is := r.(*Problem) // the helper does not check the constants of such chunks
		return is
	})
	require.NotZero(t, own.summary.Events)
	require.Equal(t, jmc.in, own.in)
	require.Equal(t, unplaced(was.in), unplaced(own.in))
	require.Len(t, own.sums, len(was.sums))
}
