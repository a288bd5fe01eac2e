package recording

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// element is an element of a chunk's metadata; attributes are pairs of key and value, "" for null.
type element struct {
	name       string
	attributes []string
	children   []element
}

// appendValues appends compressed integers and UTF-8 strings as JFR writes them.
func appendValues(data []byte, values ...any) []byte {
	for _, value := range values {
		switch v := value.(type) {
		case int:
			data = binary.AppendUvarint(data, uint64(v))
		case string:
			if v == "" {
				data = append(data, 0) // null
				continue
			}
			data = append(binary.AppendUvarint(append(data, 3), uint64(len(v))), v...)
		case []byte:
			data = append(data, v...)
		}
	}
	return data
}

// sized puts its own size before the rest of an event, in four bytes.
func sized(rest []byte) []byte {
	size := len(rest) + 4
	return append([]byte{byte(size) | 0x80, byte(size>>7) | 0x80, byte(size>>14) | 0x80, byte(size >> 21)}, rest...)
}

// forged is a finished chunk with metadata and events.
func forged(root element, events ...[]byte) []byte {
	var texts []string
	index := map[string]int{}
	number := func(text string) int {
		if _, known := index[text]; !known {
			index[text] = len(texts)
			texts = append(texts, text)
		}
		return index[text]
	}
	var tree func(data []byte, e element) []byte
	tree = func(data []byte, e element) []byte {
		data = appendValues(data, number(e.name), len(e.attributes)/2)
		for _, a := range e.attributes {
			data = appendValues(data, number(a))
		}
		data = appendValues(data, len(e.children))
		for _, c := range e.children {
			data = tree(data, c)
		}
		return data
	}
	elements := tree(nil, root)
	metadata := appendValues(nil, 0, 1, 0, 1, len(texts)) // type, start, duration, id
	for _, text := range texts {
		metadata = appendValues(metadata, text)
	}
	body := sized(append(metadata, elements...))
	for _, e := range events {
		body = append(body, sized(e)...)
	}
	const header = 68
	chunk := append([]byte("FLR\x00\x00\x02\x00\x00"), make([]byte, header-8)...)
	for i, field := range []int{header + len(body), 0, header, 1e18, 1e9, 1, 1e9} {
		binary.BigEndian.PutUint64(chunk[8+8*i:], uint64(field))
	}
	chunk[67] = 1 // compressed
	return append(chunk, body...)
}

// Whoever can write the recording can make the helper's own texts long, or lack what they should have: that is a problem of the
// recording, not an error of the reading, which would lose the trial.
func TestForgedChunks(t *testing.T) {
	class := func(attributes []string, fields ...element) element {
		return element{"root", nil, []element{{"metadata", nil, []element{{"class", attributes, fields}}}}}
	}
	h := helper(t)
	for name, c := range map[string]struct {
		chunk []byte
		want  string
	}{
		"a long text": {
			forged(class([]string{"id", "7", "name", "a.B"}, element{"field", []string{"name", "f", "class", strings.Repeat("x", 2<<20)}, nil})),
			`constants: "xxx`,
		},
		"a class without a name": {
			forged(class([]string{"id", "7", "name", "a.B"}, element{"field", []string{"name", "f", "class", "8"}, nil},
				element{"class", []string{"id", "8"}, nil}), appendValues(nil, 7, 1)),
			"constants: ",
		},
		"a long name of a type": {
			forged(class([]string{"id", "7", "name", strings.Repeat("n", 2<<20), "superType", "jdk.jfr.Event"}), appendValues(nil, 7)),
			"",
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := readBytes(t, h, c.chunk, Limits{})
			require.Len(t, o.chunks, 1)
			for _, p := range o.problems {
				t.Log(p)
				assert.Less(t, len(p.Message), 1000)
			}
			if c.want != "" {
				require.NotEmpty(t, o.problems)
				require.Contains(t, o.problems[0].Message, c.want)
				require.Equal(t, Layout, o.problems[0].Kind)
			}
		})
	}
}
