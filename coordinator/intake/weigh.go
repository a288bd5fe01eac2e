package intake

import (
	"fmt"
	"reflect"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// What Go's protobuf takes for what it decodes, in bytes. Each is an upper bound.
const (
	// growth is how many times a slice that is appended to is allocated in all: Go's slices grow by a quarter once they are large.
	growth  = 5
	word    = 8
	header  = 16 // of a string
	wrapper = 32 // of a member of a oneof
	entry   = 16 // slots that a growing map has had for each of its entries
	aMap    = 64 // of a map's own
)

// deepest is how many messages may be in one another.
const deepest = 64

// Weigh returns an error if an encoded message takes more than allowed bytes of memory once it is decoded. It allocates nothing
// that depends on the message, and finds no fault with fields that decoding would refuse.
func Weigh(data []byte, message protoreflect.MessageDescriptor, allowed int) error {
	left := allowed
	if err := planOf(message).weigh(data, &left, 0); err != nil {
		return err
	}
	if left < 0 {
		return fmt.Errorf("expected a message that takes at most %d bytes of memory: it has %d bytes, with too many parts", allowed,
			len(data))
	}
	return nil
}

// plan is what the fields of a type of message take.
type plan struct {
	size   int
	fields map[protowire.Number]field
}

// field is what each of its occurrences takes.
type field struct {
	own      int            // beside its content
	part     func() *plan   // of a message, else nil
	packed   protowire.Type // of the elements, if they may be packed, with width each; else -1
	width    int
	contents bool // a string or bytes
}

func (p *plan) weigh(data []byte, left *int, depth int) error {
	if depth > deepest {
		return fmt.Errorf("expected at most %d messages in one another", deepest)
	}
	packed := 0 // elements of packed lists so far
	for len(data) > 0 && *left >= 0 {
		number, kind, n := protowire.ConsumeTag(data)
		if n < 0 {
			return protowire.ParseError(n)
		}
		m := protowire.ConsumeFieldValue(number, kind, data[n:])
		if m < 0 {
			return protowire.ParseError(m)
		}
		if err := p.fields[number].weigh(kind, data[n:n+m], n+m, left, depth, &packed); err != nil {
			return err
		}
		data = data[n+m:]
	}
	return nil
}

// weigh takes what an occurrence of a field needs from what is left; whole is the size of its encoding.
func (f field) weigh(kind protowire.Type, value []byte, whole int, left *int, depth int, packed *int) error {
	if kind != protowire.BytesType || f.own == 0 {
		*left -= f.own
		if f.own == 0 || kind == protowire.StartGroupType { // unknown: kept as it is
			*left -= growth * class(whole)
		}
		return nil
	}
	content, _ := protowire.ConsumeBytes(value)
	switch {
	case f.part != nil:
		part := f.part()
		*left -= f.own + class(part.size)
		return part.weigh(content, left, depth+1)
	case f.contents:
		*left -= f.own + class(len(content))
	case f.packed >= 0:
		// Go's protobuf copies the list for each of its parts (growSlice in impl/pointer_unsafe.go).
		*packed += elements(content, f.packed)
		*left -= class(f.width * *packed)
	default:
		*left -= f.own + growth*class(whole)
	}
	return nil
}

// elements returns the number of packed elements.
func elements(data []byte, kind protowire.Type) (n int) {
	switch kind {
	case protowire.Fixed32Type:
		return len(data) / 4
	case protowire.Fixed64Type:
		return len(data) / 8
	}
	for _, b := range data {
		if b < 0x80 {
			n++
		}
	}
	return n
}

// class is what Go allocates for a number of bytes (runtime/sizeclasses.go), at least.
func class(n int) int {
	switch {
	case n <= 32:
		return (n + 7) &^ 7
	case n <= 256:
		return (n + 15) &^ 15
	}
	return n + n/8
}

var plans sync.Map // func() *plan by the full name of a message

// planOf returns the plan of a type of message, which is made once.
func planOf(m protoreflect.MessageDescriptor) *plan {
	made, _ := plans.LoadOrStore(m.FullName(), sync.OnceValue(func() *plan { return newPlan(m) }))
	return made.(func() *plan)() //nolint:forcetypeassert // nothing else is in it
}

func newPlan(m protoreflect.MessageDescriptor) *plan {
	p := &plan{size: sizeOf(m), fields: map[protowire.Number]field{}}
	for i := range m.Fields().Len() {
		f := m.Fields().Get(i)
		p.fields[f.Number()] = newField(f)
	}
	return p
}

// sizeOf is the size of the Go type of a message; of an entry of a map, which has none, what the map keeps of it.
func sizeOf(m protoreflect.MessageDescriptor) int {
	if m.IsMapEntry() {
		return entry * (width(m.Fields().ByNumber(1)) + width(m.Fields().ByNumber(2)))
	}
	t, err := protoregistry.GlobalTypes.FindMessageByName(m.FullName())
	if err != nil {
		return 1 << 10 // generated code has a Go type for each
	}
	return int(reflect.TypeOf(t.Zero().Interface()).Elem().Size())
}

func newField(f protoreflect.FieldDescriptor) field {
	made := field{own: word, packed: -1}
	switch {
	case f.IsMap():
		made.own = aMap
	case f.IsList():
		made.own = growth * width(f)
	case f.ContainingOneof() != nil:
		made.own = wrapper + width(f)
	}
	switch f.Kind() {
	case protoreflect.MessageKind, protoreflect.GroupKind:
		made.part = sync.OnceValue(func() *plan { return planOf(f.Message()) })
	case protoreflect.StringKind, protoreflect.BytesKind:
		made.contents = true
	default:
		if f.IsList() {
			made.packed, made.width = wireType(f.Kind()), width(f)
		}
	}
	return made
}

// width is what a slice has for an element of a kind.
func width(f protoreflect.FieldDescriptor) int {
	switch f.Kind() {
	case protoreflect.StringKind:
		return header
	case protoreflect.BytesKind:
		return header + word
	}
	return word
}

func wireType(k protoreflect.Kind) protowire.Type {
	switch k {
	case protoreflect.Fixed32Kind, protoreflect.Sfixed32Kind, protoreflect.FloatKind:
		return protowire.Fixed32Type
	case protoreflect.Fixed64Kind, protoreflect.Sfixed64Kind, protoreflect.DoubleKind:
		return protowire.Fixed64Type
	}
	return protowire.VarintType
}
