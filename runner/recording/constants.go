package recording

import "strings"

// The types of the constants that events refer to.
const (
	threadName = "java.lang.Thread"
	stackName  = "jdk.types.StackTrace"
	frameName  = "jdk.types.StackFrame"
	methodName = "jdk.types.Method"
	// textDepth is how often a string may be another one.
	textDepth = 4
)

// text is a string, which may be absent.
type text struct {
	value       string
	there, read bool
}

// class is what is said of a method's class.
type class struct {
	name, loader string
	hidden       bool
}

var frameKinds = map[string]FrameKind{
	"Interpreted": Interpreted, "JIT compiled": Compiled, "Inlined": Inlined, "Native": Native, "C++": Cpp, "Kernel": Kernel,
}

// text returns the string of a field of an event.
func (p *parser) text(t *typ, r role) string {
	f := t.roles[r]
	switch {
	case f == nil:
		return ""
	case f.pooled:
		return p.textOf(f.of, p.values[r], 0).value
	}
	c := p.cursor(int(p.values[r]))
	return p.textAt(f, &c, 0).value
}

// textOf returns the string that a constant is, or that its only field is.
func (p *parser) textOf(t *typ, id uint64, depth int) text {
	number, position, defined := t.find(id)
	if !defined || depth > textDepth {
		return text{}
	}
	of := t.pool
	of.texts = filled(of.texts, len(of.at))
	known := of.texts[number]
	if known.read {
		return known
	}
	c := p.cursor(position)
	switch {
	case t.form == stringForm:
		known = p.textAt(&field{of: t}, &c, depth+1)
	case t.simple && len(t.fields) == 1:
		known = p.textAt(&t.fields[0], &c, depth+1)
	}
	known.read = true
	of.texts[number] = known
	return known
}

// filled returns a table with room for all constants of a pool.
func filled[T any](table []T, size int) []T {
	if len(table) < size {
		table = append(table, make([]T, size-len(table))...)
	}
	return table
}

// textAt reads a field that is a string, or stands for one.
func (p *parser) textAt(f *field, c *cursor, depth int) text {
	switch {
	case f.of == nil || f.array:
	case f.pooled:
		return p.textOf(f.of, c.long(), depth)
	case f.of.form == stringForm:
		if c.at < len(c.data) && c.data[c.at] == constantString {
			return p.textOf(f.of, c.skipString(), depth)
		}
		value, there := p.string(c)
		return text{value: value, there: there}
	case f.of.simple && len(f.of.fields) == 1 && depth <= textDepth:
		return p.textAt(&f.of.fields[0], c, depth+1)
	}
	return text{}
}

// each reads the fields of a constant, with a cursor at each.
func (p *parser) each(t *typ, position int, read func(f *field, c cursor)) {
	c := p.cursor(position)
	for i := range t.fields {
		f := &t.fields[i]
		read(f, c)
		switch {
		case f.number:
			c.integer(f.width)
		case f.pooled && !f.array:
			c.long()
		default:
			p.skipField(t, f, &c)
		}
	}
}

func (p *parser) threadOf(t *typ) *Thread {
	f := t.roles[threadRole]
	if f == nil {
		return nil
	}
	id := p.values[threadRole]
	number, position, defined := f.of.find(id)
	if !defined {
		return nil
	}
	of := f.of.pool
	known := of.threads[number]
	if known == nil {
		known = p.thread(f.of, id, position)
		of.threads[number] = known
	}
	return known
}

func (p *parser) thread(t *typ, id uint64, position int) *Thread {
	thread := &Thread{Constant: id}
	var os, java text
	p.each(t, position, func(f *field, c cursor) {
		switch f.name {
		case "osName":
			os = p.textAt(f, &c, 0)
		case "javaName":
			java = p.textAt(f, &c, 0)
		case "osThreadId":
			thread.OS = int64(c.integer(f.width))
		case "javaThreadId":
			thread.Java = int64(c.integer(f.width))
		case "virtual":
			thread.Virtual = c.octet() != 0
		case "group":
			thread.Group = p.nameOf(f, &c).value
		}
	})
	thread.Name = java.value
	if !java.there {
		thread.Name = os.value
	}
	return thread
}

// nameOf returns the name of a constant to which a field refers.
func (p *parser) nameOf(f *field, c *cursor) (name text) {
	if !f.pooled || f.of == nil {
		return text{}
	}
	number, position, defined := f.of.find(c.long())
	if !defined {
		return text{}
	}
	name, known := f.of.pool.names[number]
	if !known {
		p.each(f.of, position, func(f *field, c cursor) {
			if f.name == "name" {
				name = p.textAt(f, &c, 0)
			}
		})
		f.of.pool.names[number] = name
	}
	return name
}

// stack returns the stack that a constant is, nil where the chunk lacks it.
func (p *parser) stack(t *typ, id uint64) (*Stack, *broken) {
	number, position, defined := t.find(id)
	if !defined {
		return nil, nil
	}
	of := t.pool
	of.stacks = filled(of.stacks, len(of.at))
	if known := of.stacks[number]; known != nil {
		return known, nil
	}
	s := &Stack{Constant: id}
	of.stacks[number] = s
	c := p.cursor(position)
	for i := range t.fields {
		f := &t.fields[i]
		switch {
		case f.name == "truncated" && f.is(booleanForm):
			s.Truncated = c.octet() != 0
		case f.name == "frames" && f.array && !f.pooled && f.of != nil:
			if err := p.stackFrames(s, f.of, &c); err != nil || s.Cut {
				return s, err
			}
		default:
			p.skipField(t, f, &c)
		}
	}
	return s, nil
}

func (p *parser) stackFrames(s *Stack, t *typ, c *cursor) *broken {
	count := c.count()
	if count > p.limits.Frames { // what follows the frames is not read
		count, s.Cut = p.limits.Frames, true
	}
	if p.frames += count; p.frames > p.limits.frames {
		return &broken{message: "the stacks of the chunk have too many frames", position: c.at, limit: true}
	}
	s.Frames = make([]Frame, count)
	for i := range s.Frames {
		frame := &s.Frames[i]
		frame.BCI, frame.Line = -1, -1
		for j := range t.fields {
			f := &t.fields[j]
			switch f.role {
			case methodRole:
				frame.Method = p.method(f.of, c.long())
			case kindRole:
				frame.Kind = p.frameKind(f.of, c.long())
			case lineRole:
				frame.Line = int32(c.integer(f.width))
			case indexRole:
				frame.BCI = int32(c.integer(f.width))
			default:
				p.skipField(t, f, c)
			}
		}
	}
	return nil
}

// is reports whether a field is a number or the like in a form.
func (f *field) is(form form) bool { return !f.pooled && !f.array && f.of != nil && f.of.form == form }

func (p *parser) frameKind(t *typ, id uint64) FrameKind {
	number, _, defined := t.find(id)
	if !defined {
		return UnknownFrame
	}
	of := t.pool
	kind, known := of.kinds[number]
	if !known {
		kind = frameKinds[p.textOf(t, id, 0).value]
		of.kinds[number] = kind
	}
	return kind
}

// method returns the method that a constant is, nil where the chunk lacks it.
func (p *parser) method(t *typ, id uint64) *Method {
	number, position, defined := t.find(id)
	if !defined {
		return nil
	}
	of := t.pool
	of.methods = filled(of.methods, len(of.at))
	if known := of.methods[number]; known != nil {
		return known
	}
	m := Method{Constant: id}
	c := p.cursor(position)
	for i := range t.fields {
		f := &t.fields[i]
		switch f.role {
		case classRole:
			p.declared(&m, f, &c)
		case nameRole:
			m.Name = p.textAt(f, &c, 0).value
		case descriptorRole:
			m.Descriptor = p.textAt(f, &c, 0).value
		case modifiersRole:
			m.Modifiers = uint32(c.integer(f.width))
		case hiddenRole:
			m.Hidden = c.octet() != 0
		default:
			p.skipField(t, f, &c)
		}
	}
	of.methods[number] = p.sameMethod(&m)
	return of.methods[number]
}

// declared says in which class a method is.
func (p *parser) declared(m *Method, f *field, c *cursor) {
	if !f.pooled || f.of == nil {
		return
	}
	id := c.long()
	number, position, defined := f.of.find(id)
	if !defined {
		return
	}
	of := f.of.pool
	known, has := of.classes[number]
	if !has {
		known = p.class(f.of, position)
		of.classes[number] = known
	}
	m.ClassConstant, m.Class, m.Loader, m.ClassHidden = id, known.name, known.loader, known.hidden
}

func (p *parser) class(t *typ, position int) (k class) {
	p.each(t, position, func(f *field, c cursor) {
		switch f.name {
		case "name":
			k.name = binaryName(p.textAt(f, &c, 0).value)
		case "hidden":
			k.hidden = c.octet() != 0
		case "classLoader":
			k.loader = p.loader(f, &c)
		}
	})
	return k
}

// loader returns the name of a class loader, or else that of its class.
func (p *parser) loader(f *field, c *cursor) string {
	at := *c
	if name := p.nameOf(f, &at); name.there || !f.pooled || f.of == nil {
		return name.value
	}
	number, position, defined := f.of.find(c.long())
	if !defined {
		return ""
	}
	of, known := f.of.pool.loaders[number]
	if !known {
		p.each(f.of, position, func(f *field, c cursor) {
			if f.name == "type" {
				of = binaryName(p.nameOf(f, &c).value)
			}
		})
		f.of.pool.loaders[number] = of
	}
	return of
}

var primitives = map[byte]string{
	'B': "byte", 'C': "char", 'D': "double", 'F': "float", 'I': "int", 'J': "long", 'S': "short", 'Z': "boolean", 'V': "void",
}

// binaryName is the name of a class as the Java language has it (JLS 13.1), from that of the JVM (JVMS 4.2.1, 4.3.2).
func binaryName(internal string) string {
	element := strings.TrimLeft(internal, "[")
	dimensions := len(internal) - len(element)
	if dimensions > 0 && element != "" {
		if primitive, is := primitives[element[0]]; is {
			element = primitive
		} else {
			element = strings.TrimSuffix(element[1:], ";")
		}
	}
	return strings.ReplaceAll(element, "/", ".") + strings.Repeat("[]", dimensions)
}
