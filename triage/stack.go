package triage

import (
	"strings"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/signature"
)

// frame is a frame of a walk with the normalised name of its class (signature.Class). A nil frame stands for a missing one.
type frame struct {
	*misstepv1.Frame
	class string
	// text is the method as signatures write it: class and name, without numbers that differ from run to run.
	text string
	// id is the same for frames of the same class and method name within one mismatch.
	id int
}

// stack is a walk's frames, top first.
type stack []*frame

// namer normalises the names of one mismatch, each once.
type namer struct {
	classes map[string]string
	methods map[[2]string]named
}

// named is what all frames of one class and method share.
type named struct {
	id   int
	text string
}

func newNamer() namer { return namer{classes: map[string]string{}, methods: map[[2]string]named{}} }

// frame returns f with its names; nil for nil.
func (n namer) frame(f *misstepv1.Frame) *frame {
	if f == nil {
		return nil
	}
	named := n.name(f)
	return &named
}

func (n namer) name(f *misstepv1.Frame) frame {
	class, seen := n.classes[f.GetClassName()]
	if !seen {
		class = signature.Class(f.GetClassName())
		n.classes[f.GetClassName()] = class
	}
	key := [2]string{class, f.GetMethod()}
	method, seen := n.methods[key]
	if !seen {
		method = named{id: len(n.methods), text: class + "." + signature.Method(f.GetMethod())}
		n.methods[key] = method
	}
	return frame{Frame: f, class: class, text: method.text, id: method.id}
}

func (n namer) stack(t *misstepv1.Trace) stack {
	named := make([]frame, len(t.GetFrames())) // in one piece, since there may be thousands
	frames := make(stack, len(named))
	for i, f := range t.GetFrames() {
		if f == nil {
			f = &misstepv1.Frame{}
		}
		named[i] = n.name(f)
		frames[i] = &named[i]
	}
	return frames
}

// fromTop returns the frame at an index from the top, nil outside the stack.
func (s stack) fromTop(i int) *frame {
	if i < 0 || i >= len(s) {
		return nil
	}
	return s[i]
}

// fromBottom returns the frame at an index from the bottom, nil outside the stack.
func (s stack) fromBottom(i int) *frame { return s.fromTop(len(s) - 1 - i) }

// onlyJava returns the frames of methods, and the name of the stub that the walk has above the first of them, empty for none.
// async-profiler writes what is no method with the descriptor "()L;", which no method has: functions with their library as the
// class, stubs and what it cannot name without one.
//
// lost says that the walk ends at an address of nothing.
func (s stack) onlyJava() (java stack, stub string, lost bool) {
	for _, f := range s {
		lost = f.GetDescriptor_() == "()L;" && f.GetClassName() == "" && f.GetMethod() == "unknown"
		switch {
		case f.GetDescriptor_() != "()L;":
			java = append(java, f)
		case len(java) == 0 && f.GetClassName() == "" && !lost && !nameless(f):
			stub, _, _ = strings.Cut(f.GetMethod(), "(") // I2C/C2I adapters(0xbb): the arguments
		}
	}
	return java, stub, lost
}

// nameless reports whether async-profiler names no stub: a library by its path alone, or a method that was unloaded.
func nameless(f *frame) bool {
	return strings.HasPrefix(f.GetMethod(), "/") || f.GetMethod() == "stale_jmethodID"
}

// name returns the frame's method as signatures write it, signature.NoMethod for a missing frame.
func (f *frame) name() string {
	if f == nil {
		return signature.NoMethod
	}
	return f.text
}

// raw returns the frame as it was observed; nil, on which getters may be called, for nil.
func (f *frame) raw() *misstepv1.Frame {
	if f == nil {
		return nil
	}
	return f.Frame
}

// same reports whether two frames have the same method; a frame may lack its descriptor.
func (f *frame) same(o *frame) bool {
	d, e := f.raw().GetDescriptor_(), o.raw().GetDescriptor_()
	return f.id == o.id && (d == "" || e == "" || d == e)
}
