// Package shapes makes the worst encodings of a type of message: those that take the most memory, once they are decoded, for each
// of their bytes. They follow from its descriptor.
package shapes

import (
	"bytes"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Shape is an encoding that can have any size.
type Shape struct {
	Name string
	// Of returns one of at most size bytes, and only a little less.
	Of func(size int) []byte
}

// unknown is a number that no message has.
const unknown = 536_870_000

// Worst returns the shapes of a type of message: as many of the smallest elements as fit, for each list and each map in it or in
// its parts; unknown fields; parts in parts.
func Worst(m protoreflect.MessageDescriptor) []Shape {
	all := []Shape{
		{"many unknown fields", func(size int) []byte {
			return repeat(protowire.AppendVarint(tag(unknown, protowire.VarintType), 1), size)
		}},
		{"a large unknown field", func(size int) []byte {
			return enclose(tag(unknown, protowire.BytesType), make([]byte, max(0, size-10)))
		}},
		{"unknown groups in groups", groups},
	}
	return append(all, lists(m, m.Name(), func(b []byte) []byte { return b }, 0, map[protoreflect.FullName]bool{})...)
}

// lists returns a shape for each list below a message, which in puts into the whole message.
func lists(
	m protoreflect.MessageDescriptor, path protoreflect.Name, in func([]byte) []byte, depth int,
	seen map[protoreflect.FullName]bool,
) (all []Shape) {
	if seen[m.FullName()] {
		return []Shape{{fmt.Sprintf("%s in itself", path), func(size int) []byte { return in(nest(m, size)) }}}
	}
	seen[m.FullName()] = true
	defer delete(seen, m.FullName())
	for i := range m.Fields().Len() {
		f := m.Fields().Get(i)
		name := path + "." + f.Name()
		if f.IsList() || f.IsMap() {
			all = append(all, Shape{string(name), func(size int) []byte { return in(repeat(smallest(f), size-10*(depth+1))) }})
		}
		if f.IsList() && f.IsPacked() {
			all = append(all, Shape{string(name) + " packed", func(size int) []byte {
				return in(enclose(tag(f.Number(), protowire.BytesType), make([]byte, max(0, size-10*(depth+2)))))
			}})
		}
		if f.Message() != nil && !f.IsMap() {
			all = append(all, lists(f.Message(), name, func(b []byte) []byte {
				return in(enclose(tag(f.Number(), protowire.BytesType), b))
			}, depth+1, seen)...)
		}
	}
	return all
}

// smallest is the shortest encoding of an element of a list or a map: an empty one.
func smallest(f protoreflect.FieldDescriptor) []byte {
	switch {
	case f.Kind() == protoreflect.MessageKind, f.Kind() == protoreflect.StringKind, f.Kind() == protoreflect.BytesKind:
		return append(tag(f.Number(), protowire.BytesType), 0)
	case f.IsPacked():
		return enclose(tag(f.Number(), protowire.BytesType), []byte{0})
	}
	return append(tag(f.Number(), protowire.VarintType), 0)
}

// nest puts a message into itself by its first field that can hold it, as often as fits.
func nest(m protoreflect.MessageDescriptor, size int) (b []byte) {
	for i := range m.Fields().Len() {
		if f := m.Fields().Get(i); f.Message() != nil && f.Message().FullName() == m.FullName() {
			for len(b) < min(size/4, 1<<16) { // deeper than any decoder goes
				b = enclose(tag(f.Number(), protowire.BytesType), b)
			}
			return b
		}
	}
	return b
}

// groups are unknown groups in one another, about as deep as decoders go.
func groups(size int) []byte {
	begin, end := tag(unknown, protowire.StartGroupType), tag(unknown, protowire.EndGroupType)
	const deep = 5000
	one := append(bytes.Repeat(begin, deep), bytes.Repeat(end, deep)...)
	if len(one) > size {
		n := size / (len(begin) + len(end))
		return append(bytes.Repeat(begin, n), bytes.Repeat(end, n)...)
	}
	return repeat(one, size)
}

func tag(n protowire.Number, kind protowire.Type) []byte { return protowire.AppendTag(nil, n, kind) }

func enclose(tag, content []byte) []byte { return protowire.AppendBytes(tag, content) }

// repeat returns as many copies as fit into size bytes.
func repeat(one []byte, size int) []byte { return bytes.Repeat(one, max(0, size/len(one))) }
