package edges

import (
	"regexp"
	"slices"
	"strings"

	"misstep/agent"
)

// Program is what is known of the classes of a JVM. That of an agent's sites does not change; a lazy one is used by one goroutine.
type Program struct {
	classes map[string]*class
	// find returns the classes of a name when the first edge needs them; nil if all are known.
	find func(name string) []agent.SiteClass
	// rewritten are classes that are redefined with all that extend them.
	rewritten []*class
}

// class is everything that is known of the classes of one name: a class may have been redefined, and several loaders may each have
// one.
type class struct {
	name  string
	kind  kind
	super *class // nil for none
	// redefined: frames may run a version that is not known.
	redefined bool
	methods   map[signature][]*version
	// asked says that there is nothing more to find of the class.
	asked bool
}

type kind uint8

const (
	unknownKind kind = iota
	plainClass
	interfaceClass
	// several classes of the name differ in what they extend, which is unknown therefore.
	several
)

type signature struct{ name, descriptor string }

// version is a method as one class of the name has it.
type version struct {
	class            *class
	name, descriptor string
	native, static   bool
	upcall           agent.Occasions
	code             []site // nil for none
}

type site struct {
	bci       uint16
	occasions agent.Occasions
	opcode    uint8   // of an invoke
	target    *target // nil for none
}

// target is the method that an invoke names.
type target struct {
	owner            *class // nil for invokedynamic
	name, descriptor string
	polymorphic      bool
}

// NewProgram returns the program of an agent's sites.
func NewProgram(sites agent.Sites) *Program {
	p := &Program{classes: map[string]*class{}}
	for i := range sites.Classes {
		p.add(&sites.Classes[i])
	}
	for _, name := range sites.Redefined {
		p.node(name).redefined = true
	}
	return p
}

// NewLazyProgram returns a program whose classes are looked up by their names, with dots, when an edge first needs them: each name
// is asked for once. Of those that were redefined, and of those that are or extend a rewritten one, frames may run a version that
// is not found.
func NewLazyProgram(find func(name string) []agent.SiteClass, redefined, rewritten []string) *Program {
	p := NewProgram(agent.Sites{Redefined: redefined})
	p.find = find
	for _, name := range rewritten {
		p.rewritten = append(p.rewritten, p.node(name))
	}
	return p
}

// know looks up what is not yet known of a class.
func (p *Program) know(c *class) {
	if p.find == nil || c.asked {
		return
	}
	c.asked = true
	for _, found := range p.find(c.name) {
		p.add(&found)
	}
	if slices.ContainsFunc(p.rewritten, func(base *class) bool { return p.extends(c, base) }) {
		c.redefined = true
	}
}

// extends reports whether a class is another one or is known to extend it.
func (p *Program) extends(sub, super *class) bool {
	for range deepest {
		switch {
		case sub == super:
			return true
		case sub.super == nil:
			return false
		}
		sub = sub.super
		p.know(sub)
	}
	return false
}

// node returns the class of a name, made if there is none.
func (p *Program) node(name string) *class {
	name = canonical(name)
	c := p.classes[name]
	if c == nil {
		c = &class{name: name, methods: map[signature][]*version{}}
		p.classes[name] = c
	}
	return c
}

func (p *Program) add(from *agent.SiteClass) {
	c := p.node(from.Name)
	var super *class
	if from.Super != "" {
		super = p.node(from.Super)
	}
	is := plainClass
	if from.Interface {
		is = interfaceClass
	}
	switch {
	case c.kind == unknownKind:
		c.kind, c.super = is, super
	case c.kind != is || c.super != super:
		c.kind = several
	}
	targets := make([]target, len(from.Targets))
	for i, t := range from.Targets {
		targets[i] = target{name: t.Name, descriptor: t.Descriptor, polymorphic: t.Polymorphic}
		if t.Owner != "" {
			targets[i].owner = p.node(t.Owner)
		}
	}
	for i := range from.Methods {
		m := &from.Methods[i]
		v := &version{
			class: c, name: m.Name, descriptor: m.Descriptor, native: m.Native, static: m.Static, upcall: m.Upcall,
		}
		for _, s := range m.Code {
			own := site{bci: s.BCI, occasions: s.Occasions, opcode: s.Opcode}
			if s.Target >= 0 {
				own.target = &targets[s.Target]
			}
			v.code = append(v.code, own)
		}
		key := signature{m.Name, m.Descriptor}
		c.methods[key] = append(c.methods[key], v)
	}
}

// lookup returns what is known of a class, nil for nothing. The class's name is a recording's.
func (p *Program) lookup(name string) *class {
	if p.find == nil {
		return p.classes[canonical(name)]
	}
	c := p.node(name)
	p.know(c)
	return c
}

// method returns the versions of a method, none for an unknown one. The class's name is a recording's.
func (p *Program) method(class, name, descriptor string) []*version {
	c := p.lookup(class)
	if c == nil {
		return nil
	}
	return c.methods[signature{name, descriptor}]
}

// hidden matches the end of a hidden class's name: its address, and, before JDK 21, the hash of its mirror that JFR adds
// (jfrSymbolTable.cpp: create_hidden_klass_symbol).
var hidden = regexp.MustCompile(`[.+](0x[0-9a-f]+)(\.[0-9]+)?$`)

// canonical returns a class's name as it is compared: with dots, and that of a hidden class without what only JFR (+ and a hash) or
// only JVMTI writes.
func canonical(name string) string {
	name = strings.ReplaceAll(name, "/", ".")
	if strings.Contains(name, "0x") {
		name = hidden.ReplaceAllString(name, ".$1")
	}
	return name
}
