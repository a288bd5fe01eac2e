package recording

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
)

// Touched counts the events of a type that come to faulty constants of their chunk by what they refer to, and that have come to the
// same ones. It follows the Links and Differings of the chunk.
type Touched struct {
	// Event is the type of the events.
	Event  string
	Events int64
	// Any are the faults that they come to; Shown those among them that change what a profile shows of the event: its stack's
	// methods and their names, its thread, its state.
	Any, Shown []FaultPlace
}

func (*Touched) record() {}

// FaultPlace names a Link that lacks constants, or a Differing, whose From is empty and whose Field has the fields that differ.
type FaultPlace struct {
	Kind              FaultKind
	Type, From, Field string
}

// mostPlaces of a chunk are told apart; further ones are taken for the last one.
const mostPlaces = 64

// mostReach bounds how far references are followed. What a sample shows is seven away at most: stack, method, class, name.
const mostReach = 64

// shownFields are those of which a profile shows something, of types that have others as well.
var shownFields = map[string][]string{
	stackName:         {"frames", "truncated"},
	frameName:         {"method", "type", "lineNumber", "bytecodeIndex"},
	methodName:        {"type", "name", "descriptor", "modifiers", "hidden"},
	"java.lang.Class": {"name", "hidden"},
	threadName:        {"osName", "javaName", "javaThreadId", "virtual"}, // the kernel's id names no thread
}

// faulty are sets of faults, as bits.
type faulty struct{ any, shown uint64 }

// constantKey is a constant of a chunk: its type and its number.
type constantKey struct {
	of     *typ
	number int
}

// tracer finds which events come to faulty constants.
type tracer struct {
	*parser
	places []FaultPlace
	// lacking are the bits of Links, twice those of constants.
	lacking map[linkPlace]uint64
	twice   map[constantKey]faulty
	known   map[constantKey]faulty
	hidden  map[*field]bool // that a profile does not show
	sum     faulty
	depth   int
}

// touched gives which events come to the faults of the chunk, if it has any.
func (p *parser) touched(ctx context.Context) {
	t := tracer{
		parser: p, lacking: map[linkPlace]uint64{}, twice: map[constantKey]faulty{}, known: map[constantKey]faulty{},
		hidden: map[*field]bool{},
	}
	t.collect()
	if len(t.places) == 0 {
		return
	}
	p.trace = &t
	defer func() { p.trace = nil }()
	counts := map[*typ]map[faulty]int64{}
	w := p.header.walk(p.data)
	for n := 0; w.advance() && (n%1024 != 0 || ctx.Err() == nil); n++ {
		of := p.types[w.kind]
		if w.kind == checkpointEvent || w.kind == metadataEvent || of == nil {
			continue
		}
		t.sum = faulty{}
		p.fields(of, of, &cursor{data: p.data[:w.next], at: w.contents, plain: w.plain}, 0)
		if t.sum.any == 0 {
			continue
		}
		if counts[of] == nil {
			counts[of] = map[faulty]int64{}
		}
		counts[of][t.sum]++
	}
	t.give(counts)
}

// collect numbers the faults.
func (t *tracer) collect() {
	for _, l := range t.linked {
		if slices.ContainsFunc(l.first, func(d definition) bool { return l.to.pool.ids.find(d.id) < 0 }) {
			t.lacking[linkPlace{l.from, l.of}] = t.bit(FaultPlace{Lacking, l.to.name, l.from.name, l.field})
		}
	}
	for _, of := range t.types {
		shown := shownFields[of.name]
		for i := range of.fields {
			f := &of.fields[i]
			t.hidden[f] = shown != nil && !slices.Contains(shown, f.name) || of.roles[startRole] != nil && !f.shown()
		}
	}
	for _, d := range t.differences {
		if d.of.name == "jdk.types.ChunkHeader" { // defined anew at each flush
			continue
		}
		bit := t.bit(FaultPlace{Kind: Twice, Type: d.of.name, Field: d.fields})
		for _, number := range d.numbers {
			at := constantKey{d.of, number}
			known := t.twice[at]
			known.any |= bit
			if shown := shownFields[d.of.name]; shown == nil || anyOf(strings.Split(d.fields, ","), shown) {
				known.shown |= bit
			}
			t.twice[at] = known
		}
	}
}

func anyOf(names, list []string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return slices.Contains(list, name) })
}

// shown reports whether a profile shows the field of an event.
func (f *field) shown() bool {
	return f.role == stackRole || f.role == threadRole || f.role == stateRole
}

func (t *tracer) bit(place FaultPlace) uint64 {
	if len(t.places) < mostPlaces {
		t.places = append(t.places, place)
	}
	return 1 << (len(t.places) - 1)
}

// reference adds what is behind a reference from a field.
func (t *tracer) reference(from *typ, f *field, to *typ, id uint64) {
	if id == 0 || t.silent {
		return
	}
	behind := faulty{}
	if number, position, defined := to.find(id); defined {
		behind = t.of(constantKey{to, number}, position)
	} else {
		bit := t.lacking[linkPlace{from, f}]
		behind = faulty{bit, bit}
	}
	t.sum.any |= behind.any
	if !t.hidden[f] {
		t.sum.shown |= behind.shown
	}
}

// of returns the faults of a constant and of what it leads to.
func (t *tracer) of(at constantKey, position int) faulty {
	known, seen := t.known[at]
	if seen || t.depth > mostReach {
		return known
	}
	own := t.twice[at]
	t.known[at] = own // a constant that leads to itself has nothing more
	before := t.sum
	t.sum = own
	t.depth++
	c := t.cursor(position)
	t.constant(at.of, &c)
	t.depth--
	own, t.sum = t.sum, before
	t.known[at] = own
	return own
}

func (t *tracer) give(counts map[*typ]map[faulty]int64) {
	byName := func(a, b *typ) int { return cmp.Compare(a.id, b.id) }
	for _, of := range slices.SortedFunc(maps.Keys(counts), byName) {
		order := func(a, b faulty) int { return cmp.Or(cmp.Compare(a.any, b.any), cmp.Compare(a.shown, b.shown)) }
		for _, to := range slices.SortedFunc(maps.Keys(counts[of]), order) {
			t.parser.give(&Touched{
				Event: of.name, Events: counts[of][to], Any: t.placesOf(to.any), Shown: t.placesOf(to.shown),
			})
		}
	}
}

func (t *tracer) placesOf(bits uint64) (list []FaultPlace) {
	for i, place := range t.places {
		if bits>>i&1 != 0 {
			list = append(list, place)
		}
	}
	return list
}
