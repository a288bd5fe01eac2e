package jvm

import (
	"errors"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	misstepv1 "misstep/proto/misstep/v1"
)

const (
	maxFramesKnown = 64 << 20 // bytes of memory that a frameTable takes, about
	frameKnown     = 256      // of each of its frames, besides its JSON
)

// frameTable decodes mismatch records, and each of their different frames once: deep stacks repeat their frames, and records their
// stacks. So records share frames, which nobody changes.
type frameTable struct {
	known map[string]*misstepv1.Frame // by their JSON
	size  int
	parts int // see parts, of all that was decoded
}

// record decodes a record. Its frames are cut out of it, and what is left is decoded as a whole, so that JSON of another form is
// refused.
func (t *frameTable) record(line []byte) (*misstepv1.Mismatch, error) {
	rest, cut, err := t.cut(line)
	if err != nil {
		return nil, err
	}
	m := &misstepv1.Mismatch{}
	if err := t.decode(rest, m); err != nil {
		return nil, err
	}
	traces := map[string]*misstepv1.Trace{"reference": m.GetReference(), "suspect": m.GetSuspect()}
	for name, frames := range cut {
		if traces[name] == nil {
			return nil, errors.New("expected the traces of a mismatch in its record")
		}
		traces[name].Frames = frames
	}
	return m, nil
}

func (t *frameTable) decode(text []byte, m proto.Message) error {
	n, _ := parts(text)
	t.parts += n
	return protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(text, m)
}

// cut returns a record with empty lists in place of its traces' frames, and those by the trace.
func (t *frameTable) cut(line []byte) (rest []byte, frames map[string][]*misstepv1.Frame, err error) {
	frames = map[string][]*misstepv1.Frame{}
	var last [3]string // text in the record, by the depth: what is within has it as its key
	depth, from := 0, 0
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case '"':
			end := endOfText(line, i)
			if depth >= 0 && depth < len(last) {
				last[depth] = string(line[i+1 : end])
			}
			i = end
		case '[':
			if depth == 2 && last[2] == "frames" && (last[1] == "reference" || last[1] == "suspect") {
				list, end, err := t.list(line, i+1)
				if err != nil {
					return nil, nil, err
				}
				if end > 0 {
					frames[last[1]] = list
					rest = append(rest, line[from:i+1]...)
					from, i = end, end
					continue
				}
			}
			depth++
		case '{':
			depth++
		case '}', ']':
			depth--
		}
	}
	return append(rest, line[from:]...), frames, nil
}

// list decodes the frames of the list that has its first element at an index, and returns the index of its end; 0 if it does not
// end or has other values than objects.
func (t *frameTable) list(line []byte, at int) (frames []*misstepv1.Frame, end int, err error) {
	for at = space(line, at); at < len(line); at = space(line, at+1) {
		if line[at] == ']' && frames == nil {
			return nil, at, nil
		}
		end := endOfObject(line, at)
		if end == 0 {
			return nil, 0, nil
		}
		f, err := t.frame(line[at : end+1])
		if err != nil {
			return nil, 0, err
		}
		frames = append(frames, f)
		switch at = space(line, end+1); {
		case at < len(line) && line[at] == ']':
			return frames, at, nil
		case at == len(line) || line[at] != ',':
			return nil, 0, nil
		}
	}
	return nil, 0, nil
}

func (t *frameTable) frame(text []byte) (*misstepv1.Frame, error) {
	if f := t.known[string(text)]; f != nil {
		return f, nil
	}
	f := &misstepv1.Frame{}
	if err := t.decode(text, f); err != nil {
		return nil, err
	}
	if size := t.size + len(text) + frameKnown; size <= maxFramesKnown {
		t.known[string(text)], t.size = f, size
	}
	return f, nil
}

// space returns the index of the first byte from an index on that is no white space.
func space(text []byte, at int) int {
	for at < len(text) && (text[at] == ' ' || text[at] == '\t' || text[at] == '\r' || text[at] == '\n') {
		at++
	}
	return at
}

// endOfText returns the index of the quote that ends the text which begins at an index; the length of all if there is none.
func endOfText(text []byte, at int) int {
	for at++; at < len(text) && text[at] != '"'; at++ {
		if text[at] == '\\' {
			at++
		}
	}
	return min(at, len(text))
}

// endOfObject returns the index of the brace that ends the object which begins at an index; 0 if there is none, or no object.
func endOfObject(text []byte, at int) int {
	if text[at] != '{' {
		return 0
	}
	for depth := 0; at < len(text); at++ {
		switch text[at] {
		case '"':
			at = endOfText(text, at)
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return at
			}
		}
	}
	return 0
}
