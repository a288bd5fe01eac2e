package shadow

import (
	"strings"

	"misstep/agent"
	"misstep/runner/recording"
)

// role of a method in the comparison.
type role uint8

const (
	plain        role = iota
	enter             // MisstepShadow.enter
	exit              // MisstepShadow.exit
	runtime           // the rest of MisstepShadow
	continuation      // Continuation.enterSpecial: between a virtual thread and its carrier
)

// method is a method of a recording.
type method struct {
	// name is "package/Class.name(descriptor)result", as in tap.bin.
	name string
	// key is equal for equal names; 0 if the method is not instrumented.
	key  uint32
	role role
	init bool
}

// methods knows which methods are instrumented.
type methods struct {
	keys  map[string]uint32
	names []string // by key
	ofID  map[uint32]uint32
	known map[*recording.Method]*method
}

// methodsOf takes the instrumented methods from the agent's list and from the names in the tap. The agent lists 65,536 of them
// (MethodList.java): one beyond, that no shadow of the tap has, is taken for not instrumented, so that it goes unnoticed in a trace
// that has it wrongly.
func methodsOf(t *agent.Tap, list []string) *methods {
	m := &methods{
		keys: map[string]uint32{}, names: []string{""}, ofID: map[uint32]uint32{}, known: map[*recording.Method]*method{},
	}
	for _, name := range list {
		m.key(name)
	}
	for id, name := range t.Names {
		m.ofID[id] = m.key(name)
	}
	return m
}

func (m *methods) key(name string) uint32 {
	k, seen := m.keys[name]
	if !seen {
		k = uint32(len(m.names))
		m.keys[name] = k
		m.names = append(m.names, name)
	}
	return k
}

// of describes a method of a recording; nil for nil.
func (m *methods) of(r *recording.Method) *method {
	if r == nil {
		return nil
	}
	if known, seen := m.known[r]; seen {
		return known
	}
	class := strings.ReplaceAll(r.Class, ".", "/")
	out := &method{name: class + "." + r.Name + r.Descriptor, init: r.Name == "<init>", role: roleOf(class, r.Name)}
	out.key = m.keys[out.name]
	m.known[r] = out
	return out
}

func roleOf(class, name string) role {
	switch {
	case class == "java/lang/MisstepShadow" && name == "enter":
		return enter
	case class == "java/lang/MisstepShadow" && name == "exit":
		return exit
	case class == "java/lang/MisstepShadow":
		return runtime
	case class == "jdk/internal/vm/Continuation" && name == "enterSpecial":
		return continuation
	}
	return plain
}
