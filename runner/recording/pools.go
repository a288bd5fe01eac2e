package recording

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// mostExamples of the faults that differ only in the id are given; the counts have all.
const mostExamples = 100

// pool is the constants of a type that a chunk defines, by their number.
type pool struct {
	ids ids
	at  []int32 // where the contents are that a parser finds
	// again are other definitions.
	again []definition
	// What was read of them.
	texts   []text
	names   map[int]text
	loaders map[int]string
	classes map[int]class
	threads map[int]*Thread
	stacks  []*Stack
	methods []*Method
	kinds   map[int]FrameKind
}

// definition is an id and a place in the chunk.
type definition struct {
	id       uint64
	position int32
}

// link is the references to constants of a type that a field of another has; of a string that is a constant, there is no field.
type link struct {
	from, to *typ
	of       *field
	field    string
	ids      ids
	last     uint64
	first    []definition // of each id, where it is first
}

// refer enters a reference; 0 is none.
func (p *parser) refer(from *typ, f *field, to *typ, id uint64, position int) {
	if p.trace != nil {
		p.trace.reference(from, f, to, id)
		return
	}
	if id == 0 || p.silent {
		return
	}
	l := f.link
	if f.from != from {
		l = p.linkOf(from, f, to)
	}
	if l.last == id {
		return
	}
	l.last = id
	if _, fresh := l.ids.add(id); fresh {
		l.first = append(l.first, definition{id, int32(position)})
		p.entries++
	}
}

func (p *parser) linkOf(from *typ, f *field, to *typ) *link {
	at := linkPlace{from, f}
	l := p.links[at]
	if l == nil {
		l = &link{from: from, to: to, of: f, field: f.name}
		p.links[at] = l
		p.linked = append(p.linked, l)
		to.constants()
	}
	f.from, f.link = from, l
	return l
}

// constants returns the pool of a type.
func (t *typ) constants() *pool {
	if t.pool == nil {
		t.pool = &pool{
			names: map[int]text{}, loaders: map[int]string{}, classes: map[int]class{}, threads: map[int]*Thread{},
			kinds: map[int]FrameKind{},
		}
	}
	return t.pool
}

// clear forgets the constants.
func (p *pool) clear() {
	p.ids.clear()
	p.at, p.again = p.at[:0], p.again[:0]
	clear(p.stacks)
	clear(p.methods)
	clear(p.texts)
	p.stacks, p.methods, p.texts = p.stacks[:0], p.methods[:0], p.texts[:0]
	clear(p.names)
	clear(p.loaders)
	clear(p.classes)
	clear(p.threads)
	clear(p.kinds)
}

// define enters a definition with the position of its contents.
func (p *parser) define(t *typ, id uint64, position int) {
	of := t.constants()
	if _, fresh := of.ids.add(id); fresh {
		of.at = append(of.at, int32(position))
		p.entries++
		return
	}
	of.again = append(of.again, definition{id, int32(position)})
	p.entries++
}

// find returns the number of a constant and where its contents are; false if it is not defined.
func (t *typ) find(id uint64) (number, position int, defined bool) {
	if t == nil || t.pool == nil {
		return -1, 0, false
	}
	number = t.pool.ids.find(id)
	if number < 0 {
		return -1, 0, false
	}
	return number, int(t.pool.at[number]), true
}

// pools gives how many constants of each type there are, each link, and what is lacking.
func (p *parser) pools() *broken {
	referenced := map[*typ]int{}
	for _, l := range p.linked {
		if l.ids.size > 0 {
			referenced[l.to] += l.ids.size
			p.give(p.lacking(l))
		}
	}
	for _, t := range p.byID() {
		if t.pool == nil || t.pool.ids.size == 0 && referenced[t] == 0 {
			continue
		}
		if err := p.twice(t); err != nil {
			return err
		}
		p.give(&Pool{Type: t.name, Defined: t.pool.ids.size, Referenced: referenced[t]})
	}
	return nil
}

// lacking gives examples of the constants that a link refers to and the chunk lacks.
func (p *parser) lacking(l *link) *Link {
	sum := &Link{Type: l.to.name, From: l.from.name, Field: l.field, Referenced: l.ids.size}
	for _, at := range l.first {
		if l.to.pool.ids.find(at.id) >= 0 {
			continue
		}
		if sum.Lacking++; sum.Lacking <= mostExamples {
			p.give(&Fault{
				Kind: Lacking, Type: l.to.name, ID: at.id, From: l.from.name, Position: int64(at.position), Field: l.field,
			})
		}
	}
	return sum
}

// twice gives the definitions that differ from the one a parser finds, and their number.
func (p *parser) twice(t *typ) *broken {
	differing := map[string]*ids{} // by the fields
	numbers := map[string][]int{}
	for _, d := range t.pool.again {
		constant, first, _ := t.find(d.id)
		fields := strings.Join(p.differing(t, first, int(d.position)), ",")
		if p.compared > mostCompared {
			return &broken{message: "the chunk defines too many constants again", position: int(d.position), limit: true}
		}
		if fields == "" {
			continue
		}
		if differing[fields] == nil {
			differing[fields] = &ids{}
		}
		number, fresh := differing[fields].add(d.id)
		if fresh {
			numbers[fields] = append(numbers[fields], constant)
		}
		if fresh && number < mostExamples {
			p.give(&Fault{Kind: Twice, Type: t.name, ID: d.id, From: t.name, Position: int64(d.position), Field: fields})
		}
	}
	for _, fields := range slices.Sorted(maps.Keys(differing)) {
		p.give(&Differing{Type: t.name, Fields: fields, IDs: differing[fields].size})
		p.differences = append(p.differences, differences{t, fields, numbers[fields]})
	}
	return nil
}

// differences are the constants of a type that are defined again with these fields changed.
type differences struct {
	of      *typ
	fields  string
	numbers []int
}

// windows gives when the events of each type ended.
func (p *parser) windows() {
	for _, t := range p.byID() {
		if t.window != nil {
			p.give(t.window)
		}
	}
}

func (p *parser) byID() []*typ {
	return slices.SortedFunc(maps.Values(p.types), func(a, b *typ) int { return cmp.Compare(a.id, b.id) })
}
