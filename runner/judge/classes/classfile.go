package classes

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"misstep/agent"
)

const (
	classMagic = 0xcafebabe
	// maxClassBytes is the size of the largest class file that is read.
	maxClassBytes = 64 << 20
)

// Access flags (JVMS 4.1 and 4.6).
const (
	accStatic    = 0x0008
	accNative    = 0x0100
	accInterface = 0x0200
)

// Class is what a class file says of its methods' instructions.
type Class struct {
	agent.SiteClass
	lines map[signature][]line
}

type signature struct{ name, descriptor string }

// line is the source line of the instructions from a bytecode index on.
type line struct{ bci, number uint16 }

// ErrClass is wrapped by errors about what is no class file.
var ErrClass = errors.New("not a class file")

// Parse reads a class file.
func Parse(data []byte) (*Class, error) {
	r := &cursor{data: data}
	if r.u4() != classMagic {
		return nil, fmt.Errorf("%w: it does not begin with %#x", ErrClass, uint32(classMagic))
	}
	r.skip(4) // the version
	p, err := r.readPool()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrClass, err)
	}
	c := &Class{lines: map[signature][]line{}}
	c.Interface = r.u2()&accInterface != 0
	if c.Name, err = p.class(r.u2()); err == nil {
		c.Super, err = p.class(r.u2())
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrClass, err)
	}
	if c.Interface { // its file names Object, the JVM no superclass (JNI GetSuperclass), and so does the agent
		c.Super = ""
	}
	r.skip(2 * int(r.u2())) // the interfaces
	for range r.u2() {      // the fields
		r.skip(6)
		r.attributes(p, nil)
	}
	code := codeReader{self: c.Name, pool: p, numbers: map[uint16]int32{}}
	for number := range r.u2() {
		if err := r.method(c, &code); err != nil {
			return nil, fmt.Errorf("%w: method %d: %w", ErrClass, number, err)
		}
	}
	if r.err != nil {
		return nil, fmt.Errorf("%w: %w", ErrClass, r.err)
	}
	c.Targets = code.targets
	return c, nil
}

// attributes goes over a table of attributes and calls visit with each, if it is not nil.
func (r *cursor) attributes(p *pool, visit func(name string, data []byte)) {
	for range r.u2() {
		index := r.u2()
		data := r.take(int(r.u4()))
		if r.err != nil {
			return
		}
		if name, err := p.text(index); err == nil && visit != nil {
			visit(name, data)
		}
	}
}

func (r *cursor) method(c *Class, code *codeReader) (err error) {
	flags := r.u2()
	m := agent.SiteMethod{Native: flags&accNative != 0, Static: flags&accStatic != 0}
	if m.Name, err = code.pool.text(r.u2()); err == nil {
		m.Descriptor, err = code.pool.text(r.u2())
	}
	if err != nil {
		return err
	}
	m.Upcall = Upcall(c.Name, m.Name, m.Descriptor)
	var lines []line
	r.attributes(code.pool, func(name string, data []byte) {
		if name != "Code" || err != nil {
			return
		}
		body := cursor{data: data, at: 4} // after max_stack and max_locals
		instructions := body.take(int(body.u4()))
		body.skip(8 * int(body.u2())) // the exception table
		if body.err == nil {
			m.Code, err = code.sites(instructions)
		}
		body.attributes(code.pool, func(name string, data []byte) {
			if name == "LineNumberTable" {
				lines = append(lines, readLines(data)...)
			}
		})
		err = cmp.Or(err, body.err)
	})
	if err != nil {
		return fmt.Errorf("%s%s: %w", m.Name, m.Descriptor, err)
	}
	slices.SortStableFunc(lines, func(a, b line) int { return cmp.Compare(a.bci, b.bci) })
	c.Methods = append(c.Methods, m)
	c.lines[signature{m.Name, m.Descriptor}] = lines
	return r.err
}

func readLines(data []byte) []line {
	r := cursor{data: data}
	list := make([]line, 0, min(int(r.u2()), len(data)/4))
	for r.err == nil && len(data)-r.at >= 4 {
		list = append(list, line{binary.BigEndian.Uint16(data[r.at:]), binary.BigEndian.Uint16(data[r.at+2:])})
		r.skip(4)
	}
	return list
}

// Line returns the source line of an instruction, 0 where the class file has none: of the first entry with the index, else of the
// last one with the greatest index before it (HotSpot method.cpp: Method::line_number_from_bci).
func (c *Class) Line(name, descriptor string, bci int32) int32 {
	if bci < 0 {
		bci = 0 // the entry of compiled code
	}
	var number uint16
	for _, l := range c.lines[signature{name, descriptor}] {
		if int32(l.bci) > bci {
			break
		}
		if number = l.number; int32(l.bci) == bci {
			break
		}
	}
	return int32(number)
}

// Has reports whether the class declares a method.
func (c *Class) Has(name, descriptor string) bool {
	_, has := c.lines[signature{name, descriptor}]
	return has
}
