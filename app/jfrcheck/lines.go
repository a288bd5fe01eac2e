package jfrcheck

import (
	"maps"
	"slices"

	"misstep/runner/judge/classes"
	"misstep/runner/recording"
)

// code is a class, or the methods of a name in it.
type code struct{ class, method string }

// compared counts places in code, and those where the class file has another line.
type compared struct{ all, other int }

// One place in so many differs, of a class and of a method that is not that of the class file.
const (
	classDiffers  = 10
	methodDiffers = 2
)

// differs reports whether at least one in so many places has another line: a few contradict the recording, not the class file.
func (n *compared) differs(oneIn int) bool { return n != nil && n.other*oneIn >= n.all }

type place struct {
	class, name, descriptor string
	bci, line               int32
}

// otherClass reports whether a method may have run with other instructions than those of its class file.
func (c *codeEdges) otherClass(class, method string) bool {
	return c.otherBuild || c.places[code{class, ""}].differs(classDiffers) ||
		c.places[code{class, method}].differs(methodDiffers) || c.traced.has(class, method) ||
		c.traces && len(c.traced) == 0 // the recorder lost the filters: any method may be instrumented
}

// settle finds the classes whose files are not those that ran, in whole or in a method, once all lines were compared. Where they
// are many, the files are those of another build, in which classes with equal lines may differ as well: what instruments a program
// that runs keeps its lines, or changes few classes.
func (c *codeEdges) settle() {
	const least, rareOf = 5, 10
	differ, all := map[string]bool{}, 0
	for of, n := range c.places {
		if of.method == "" {
			all++
		}
		if of.method == "" && n.differs(classDiffers) || of.method != "" && n.differs(methodDiffers) {
			differ[of.class] = true
		}
	}
	c.differing, c.classes = slices.Sorted(maps.Keys(differ)), all
	c.otherBuild = len(differ) >= least && len(differ)*rareOf > all
}

// framePlace is a place in code as the frames of a chunk have it: they share methods.
type framePlace struct {
	method    *recording.Method
	bci, line int32
}

func (c *codeEdges) line(f recording.Frame) {
	m := f.Method
	inChunk := framePlace{m, f.BCI, f.Line}
	if c.compared[inChunk] {
		return
	}
	c.compared[inChunk] = true
	if m == nil || f.Line <= 0 || m.Descriptor == pseudo || m.Modifiers&accNative != 0 || fromHandle(m) ||
		len(c.lines)+len(c.here) >= mostLines {
		return
	}
	at := place{m.Class, m.Name, m.Descriptor, f.BCI, f.Line}
	if _, compared := c.here[at]; compared || c.lines[at] {
		return
	}
	files := c.path.Find(m.Class)
	if len(files) == 0 {
		if len(c.missing) < mostFaults {
			c.missing[m.Class] = true
		}
		c.lines[at] = true
		return
	}
	c.here[at] = slices.ContainsFunc(files, func(file *classes.Class) bool {
		line := file.Line(m.Name, m.Descriptor, f.BCI)
		return line == f.Line || line == 0 && file.Has(m.Name, m.Descriptor) // compiled without lines
	})
}

// leave ends a recording. Its lines count unless it is of another JDK than the class files.
func (c *codeEdges) leave() {
	if c.otherJDK == "" {
		for at, equal := range c.here {
			c.lines[at] = true
			c.count(code{at.class, ""}, equal)
			c.count(code{at.class, at.name}, equal)
		}
	}
	clear(c.here)
	clear(c.compared)
	c.otherJDK = ""
}

func (c *codeEdges) count(of code, equal bool) {
	n := c.places[of]
	if n == nil {
		n = &compared{}
		c.places[of] = n
	}
	n.all++
	if !equal {
		n.other++
	}
}
