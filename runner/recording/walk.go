package recording

// cursor returns a cursor at a position of the chunk.
func (p *parser) cursor(position int) cursor {
	return cursor{data: p.data, at: position, plain: p.header.plain()}
}

// constant goes through a constant of a type, which may be a string.
func (p *parser) constant(t *typ, c *cursor) {
	if len(t.fields) == 0 {
		p.primitive(t, &p.none, t, c)
		return
	}
	p.fields(t, t, c, 0)
}

// fields goes through the fields of an event, a constant or a structure in one.
func (p *parser) fields(from, t *typ, c *cursor, depth int) {
	if depth > mostDepth {
		c.fail("%s contains itself", t.name)
		return
	}
	for i := range t.fields {
		f := &t.fields[i]
		switch {
		case f.number:
			c.integer(f.width)
		case f.pooled && !f.array && f.of != nil:
			position := c.at
			p.refer(from, f, f.of, c.long(), position)
		default:
			p.field(from, t, f, c, depth)
		}
	}
}

// field goes through one field, with all elements of an array, and enters the references in it as those of a type.
func (p *parser) field(from, t *typ, f *field, c *cursor, depth int) {
	count := 1
	if f.array {
		count = c.count()
	}
	of := f.of
	if of == nil {
		c.fail("%s.%s has the unknown type %d", t.name, f.name, f.typeID)
		return
	}
	for ; count > 0 && c.err == nil; count-- {
		switch {
		case f.pooled:
			position := c.at
			p.refer(from, f, of, c.long(), position)
		case len(of.fields) == 0:
			p.primitive(from, f, of, c)
		default:
			p.fields(from, of, c, depth+1)
		}
	}
}

// skipField goes through one field and enters nothing.
func (p *parser) skipField(t *typ, f *field, c *cursor) {
	p.silent = true
	p.field(t, t, f, c, 0)
	p.silent = false
}

func (p *parser) primitive(from *typ, f *field, t *typ, c *cursor) {
	switch t.form {
	case booleanForm, byteForm:
		c.skip(1)
	case integerForm:
		c.integer(t.width)
	case floatForm:
		c.skip(4)
	case doubleForm:
		c.skip(8)
	case stringForm:
		position := c.at
		p.refer(from, f, t, c.skipString(), position)
	default:
		c.fail("%s is no primitive type", t.name)
	}
}
