package recording

import (
	"bytes"
	"strconv"
)

const (
	mostDepth = 16
	// mostElements and as many strings of the metadata are read.
	mostElements = 1 << 17
)

// form is how a primitive value is written.
type form uint8

const (
	noForm form = iota
	booleanForm
	byteForm
	integerForm
	floatForm
	doubleForm
	stringForm
)

var widths = map[string]uint8{"char": charBytes, "short": charBytes, "int": intBytes, "long": longBytes}

var forms = map[string]form{
	"boolean": booleanForm, "byte": byteForm, "char": integerForm, "short": integerForm, "int": integerForm, "long": integerForm,
	"float": floatForm, "double": doubleForm, "java.lang.String": stringForm,
}

// typ is a type that a chunk describes: an event, a constant, or a primitive, which has no fields.
type typ struct {
	id     uint64
	name   string
	form   form
	width  uint8 // of an integer that is plain, in bytes
	fields []field
	// simple says that the type stands for its only field.
	simple bool
	// pool of its constants, nil where nothing defines or refers to one.
	pool *pool
	// roles that a field has, and when its events ended.
	roles  [roleCount]*field
	window *Window
	events int64
}

// field is a field of a type; pooled: its value is the id of a constant of its type.
type field struct {
	name          string
	typeID        uint64
	of            *typ
	pooled, array bool
	number        bool // an integer, no array
	width         uint8
	annotations   []annotation
	unit          unit
	role          role
	// link of the last type from which the field was read: a structure is part of several.
	from *typ
	link *link
}

// annotation of a field: a type, and its value.
type annotation struct {
	typeID uint64
	value  string
}

// metadata are the types that a chunk describes: a table of strings and a tree of elements, as jdk.jfr.internal.MetadataWriter
// writes them.
type metadata struct {
	types    map[uint64]*typ
	cursor   *cursor
	strings  []string
	elements int
}

// described is what the metadata of a chunk describe, and what is found by it. The chunks of a recording mostly have the same, or
// those of another recorder in turn.
type described struct {
	bytes []byte
	plain bool
	types map[uint64]*typ
	// links by their place, and in the order in which they were found.
	links  map[linkPlace]*link
	linked []*link
}

// mostDescribed metadata are kept for the chunks that follow.
const mostDescribed = 4

// describe reads the metadata event at a position of a chunk, unless it is that of a chunk before.
func (f *file) describe(data []byte, position int64, plain bool) *broken {
	f.described = &described{}
	if position < headerBytes || position >= int64(len(data)) {
		return brokenAt(headerMetadata, "the header's place of the metadata, %d, is outside of the chunk", position)
	}
	c := cursor{data: data, at: int(position), plain: plain}
	size := c.integer(intBytes)
	if c.long() != metadataEvent {
		return brokenAt(int(position), "the header's place of the metadata has another event")
	}
	c.long() // start
	c.long() // duration
	c.long() // id of the metadata
	from, end := c.at, int(position)+int(min(size, uint64(len(data))))
	for _, d := range f.known {
		if c.err == nil && end <= len(data) && from < end && d.plain == plain && bytes.Equal(d.bytes, data[from:end]) {
			d.clear()
			f.described = d
			return nil
		}
	}
	m := &metadata{types: map[uint64]*typ{}, cursor: &c}
	for left := c.count(); left > 0 && c.err == nil; left-- {
		if len(m.strings) >= mostElements {
			c.fail("the metadata has too many strings")
		}
		text, _ := c.text()
		m.strings = append(m.strings, text)
	}
	m.element(nil, nil, 0)
	for _, t := range m.types {
		for i := range t.fields {
			m.resolve(&t.fields[i])
		}
		t.assignRoles()
	}
	f.described = &described{plain: plain, types: m.types, links: map[linkPlace]*link{}}
	if c.err == nil && c.at == end {
		f.bytes = bytes.Clone(data[from:end])
		f.known = append(f.known, f.described)
		f.known = f.known[max(0, len(f.known)-mostDescribed):]
	}
	return c.err
}

// clear forgets what is of one chunk.
func (d *described) clear() {
	for _, t := range d.types {
		if t.pool != nil {
			t.pool.clear()
		}
		t.window, t.events = nil, 0
	}
	for _, l := range d.linked {
		l.ids.clear()
		l.first, l.last = l.first[:0], 0
	}
}

// element reads an element and those in it: a class is a type, to which the fields in it belong, and to these their annotations.
func (m *metadata) element(t *typ, f *field, depth int) {
	c := m.cursor
	if m.elements++; depth > mostDepth || m.elements > mostElements {
		c.fail("the metadata has too many elements")
	}
	name := m.text()
	attributes := map[string]string{}
	for left := c.count(); left > 0 && c.err == nil; left-- {
		key := m.text()
		attributes[key] = m.text()
	}
	if c.err != nil {
		return
	}
	switch {
	case name == "class":
		name := attributes["name"]
		t = &typ{
			id: m.number(attributes["id"]), name: name, form: forms[name], width: widths[name],
			simple: attributes["simpleType"] == "true",
		}
		m.types[t.id] = t
	case name == "field" && t != nil:
		t.fields = append(t.fields, field{
			name: attributes["name"], typeID: m.number(attributes["class"]), pooled: attributes["constantPool"] == "true",
			array: attributes["dimension"] == "1",
		})
		f = &t.fields[len(t.fields)-1]
	case name == "annotation" && f != nil:
		f.annotations = append(f.annotations, annotation{m.number(attributes["class"]), attributes["value"]})
	}
	for left := c.count(); left > 0 && c.err == nil; left-- {
		m.element(t, f, depth+1)
	}
}

// resolve finds the types that a field and its annotations name.
func (m *metadata) resolve(f *field) {
	f.of = m.types[f.typeID]
	f.number = f.is(integerForm)
	if f.of != nil {
		f.width = f.of.width
	}
	for _, a := range f.annotations {
		if of := m.types[a.typeID]; of != nil && (of.name == "jdk.jfr.Timestamp" || of.name == "jdk.jfr.Timespan") {
			f.unit = units[a.value]
		}
	}
}

func (m *metadata) text() string {
	index := m.cursor.integer(intBytes)
	if index >= uint64(len(m.strings)) {
		m.cursor.fail("the metadata has no string %d", index)
		return ""
	}
	return m.strings[index]
}

func (m *metadata) number(value string) uint64 {
	id, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		m.cursor.fail("%q is no id of a type", value)
	}
	return uint64(id)
}
