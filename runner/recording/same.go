package recording

// sameDepth is how far references are followed: to a method's class's loader's type's name.
const sameDepth = 6

// mostCompared bytes are compared in a chunk: constants that refer to each other can be compared in very many ways.
const mostCompared = 1 << 28

// differing returns the fields in which two constants of a type differ, "value" where it has none. They are compared by what they
// say: the same class or method can be written more than once in a chunk, with other ids for its symbols.
func (p *parser) differing(t *typ, one, other int) []string {
	if len(t.fields) == 0 {
		if !p.sameBytes(t, one, other) {
			return []string{"value"}
		}
		return nil
	}
	var names []string
	a, b := p.cursor(one), p.cursor(other)
	for i := range t.fields {
		if !p.same(t, &t.fields[i], &a, &b, 0) {
			names = append(names, t.fields[i].name)
		}
	}
	return names
}

// same compares one field; both cursors are behind it afterwards.
func (p *parser) same(t *typ, f *field, a, b *cursor, depth int) bool {
	fromA, fromB := *a, *b
	p.skipField(t, f, a)
	p.skipField(t, f, b)
	p.compared += a.at - fromA.at + 1
	if a.sameSince(fromA.at, b, fromB.at) {
		return true
	}
	if !f.pooled || f.array || depth > sameDepth || p.compared > mostCompared {
		return false
	}
	_, one, has := f.of.find(fromA.long())
	_, other, hasOther := f.of.find(fromB.long())
	return has && hasOther && p.sameConstants(f.of, one, other, depth)
}

func (p *parser) sameConstants(t *typ, one, other, depth int) bool {
	if len(t.fields) == 0 {
		return p.sameBytes(t, one, other)
	}
	a, b := p.cursor(one), p.cursor(other)
	for i := range t.fields {
		if !p.same(t, &t.fields[i], &a, &b, depth+1) {
			return false
		}
	}
	return true
}

func (p *parser) sameBytes(t *typ, one, other int) bool {
	a, b := p.cursor(one), p.cursor(other)
	p.silent = true
	p.constant(t, &a)
	p.constant(t, &b)
	p.silent = false
	return a.sameSince(one, &b, other)
}
