package jfrcheck

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"misstep/agent"
	"misstep/known"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
	"misstep/runner/judge/classes"
	"misstep/runner/judge/edges"
	"misstep/runner/recording"
)

const (
	// mostFaults are kept apart, of each check.
	mostFaults = 4096
	// mostLines bounds the places in code whose lines are compared.
	mostLines = 1 << 20
	// otherFile is the reason for which an edge is void whose class was not that of the class file.
	otherFile = "other-class-file"
	// foundDifferent are classes that a note names.
	foundDifferent = 5
)

// instrumentedByJFR are the JDK's classes that JFR itself instruments on 8 to 21, so that what runs is not what the file has
// (package jdk.jfr.internal.instrument; agent/java Untouchable.java).
var instrumentedByJFR = []string{
	"java.io.FileInputStream", "java.io.FileOutputStream", "java.io.RandomAccessFile", "sun.nio.ch.FileChannelImpl",
	"sun.nio.ch.SocketChannelImpl", "java.net.SocketInputStream", "java.net.SocketOutputStream",
	"java.net.Socket$SocketInputStream", "java.net.Socket$SocketOutputStream", "java.lang.Throwable", "java.lang.Error",
}

// events are the classes of which JFR writes the methods anew, with all that extend them (HotSpot jfrEventClassTransformer.cpp,
// jdk.jfr EventInstrumentation.java): commit and its like are empty in the class files.
var events = []string{"jdk.internal.event.Event", "jdk.jfr.Event"}

// codeEdges judges edges by class files, and whether these are the files of the classes that ran: a frame has the line of its
// instruction, which the JVM took from the class that it ran.
type codeEdges struct {
	path  *classes.Path
	judge *edges.Judge
	lines map[place]bool
	// places counts those whose lines were compared, by class and by method, and here has those of this recording: it may prove to
	// be of another JDK.
	places map[code]*compared
	here   map[place]bool // whether the class file has the line
	// differing are the classes that settle found, of so many that were compared.
	differing  []string
	classes    int
	otherBuild bool
	missing    map[string]bool
	traced     tracing
	traces     bool // there are events of instrumented methods
	// otherJDK is the JVM of this recording, where it is not of the given JDK's version.
	otherJDK string
	jdk      string // its folder
	notes    []string
	in       edges.Input
	check    Check
	found    []edgeFault
	// wrong counts the impossible edges by their callers, also those of which no fault is kept; without a name those whose callers
	// are not known any more.
	wrong map[code]uint64
	seen  map[*recording.Stack]bool // of this chunk
	// compared are places of this chunk and of others that share its methods.
	compared map[framePlace]bool
}

// edgeFault is a fault whose caller may prove to be of another class file. What wrote its recording is known, and in which JVM.
type edgeFault struct {
	Fault
	class, method string
}

func newCodeEdges(path *classes.Path, jdk string) *codeEdges {
	find := func(name string) []agent.SiteClass {
		found := path.Find(name)
		list := make([]agent.SiteClass, len(found))
		for i, c := range found {
			list[i] = c.SiteClass
		}
		return list
	}
	given, _ := releaseOf(jdk) // 0 where it is not known; where a recording is of another JDK, no edge is called wrong
	in := edges.Input{
		Program: edges.NewLazyProgram(find, instrumentedByJFR, events), Profiler: recipe.ProfilerJFR, Feature: given[0],
		Limit: mostFaults,
	}
	return &codeEdges{
		path: path, jdk: jdk, in: in, judge: edges.New(in), lines: map[place]bool{}, places: map[code]*compared{},
		here: map[place]bool{}, missing: map[string]bool{}, traced: tracing{}, seen: map[*recording.Stack]bool{},
		compared: map[framePlace]bool{}, wrong: map[code]uint64{},
		check: Check{
			Name: recipe.EventEdges, What: "the instruction of each frame can call the frame above it", Unit: "edges",
		},
	}
}

// Visit takes a record.
func (c *codeEdges) Visit(r recording.Record) error {
	switch r := r.(type) {
	case *recording.Chunk:
		clear(c.seen)
		if len(c.compared) > mostKnown {
			clear(c.compared)
		}
	case *recording.Setting:
		c.traced.setting(r)
		c.version(jvmVersion(r))
	case *recording.Event:
		c.traces = c.traces || traces(r.Type)
		if r.Stack == nil || c.seen[r.Stack] {
			break
		}
		c.seen[r.Stack] = true
		for _, f := range r.Stack.Frames {
			c.line(f)
		}
	}
	return c.judge.Visit(r)
}

// version compares the JVM of a recording with the JDK whose class files were given.
func (c *codeEdges) version(jvm string) {
	if jvm == "" || c.jdk == "" || c.otherJDK != "" {
		return
	}
	ran, known := known.ParseVersion(jvm)
	if given, has := releaseOf(c.jdk); known && has && ran != given {
		c.otherJDK = jvm
	}
}

// ends judges a recording: what wrote it is known at its end.
func (c *codeEdges) ends(r *Recording) {
	v := c.judge.Verdicts()
	c.judge = edges.New(c.in)
	c.check.add(v.Count)
	defer c.leave()
	if c.otherJDK != "" {
		c.isVoid(v.Count.GetMismatch())
		note := fmt.Sprintf("%s was not made by the JDK %s, so that no edge can be called wrong in its recordings: give its JDK "+
			"as --jdk", c.otherJDK, c.jdk)
		if !slices.Contains(c.notes, note) {
			c.notes = append(c.notes, note)
		}
		return
	}
	in := c.in
	in.Profiler = r.Profiler
	rest := v.Count.GetMismatch()
	for _, m := range v.Mismatches {
		reference, suspect := m.GetReference().GetFrames(), m.GetSuspect()
		suspect.Source, suspect.Asynchronous = in.Profiler, in.Asynchronous(suspect.GetSampler())
		frames := suspect.GetFrames()
		callee := len(frames) - 1 - int(m.GetDivergence())
		caller := frames[callee+1]
		c.wrong[code{caller.GetClassName(), caller.GetMethod()}] += m.GetCount()
		rest -= m.GetCount()
		if len(c.found) >= mostFaults {
			continue
		}
		detail := "no call stands there"
		if len(reference) > len(frames)-1-callee {
			detail = "the instruction there calls " + protoMethod(reference[0])
		}
		c.found = append(c.found, edgeFault{Fault{
			Check: recipe.EventEdges, Kind: m.GetKind(), Count: m.GetCount(), Sampler: suspect.GetSampler(), Detail: detail,
			Known: r.knownAs(m), Profiler: r.Profiler,
			Place: fmt.Sprintf("%s calls %s", frameText(protoMethod(caller), caller.GetBci()), protoMethod(frames[callee])),
			Stack: protoStack(frames), Touches: TouchesEvents, Events: m.GetCount(),
		}, caller.GetClassName(), caller.GetMethod()})
	}
	c.wrong[code{}] += rest
}

// isVoid takes back that so many edges are wrong.
func (c *codeEdges) isVoid(edges uint64) {
	if edges > 0 {
		c.check.Wrong -= edges
		c.check.Void[otherFile] += edges
	}
}

func (c *codeEdges) report(r *Report) {
	c.settle()
	for of, n := range c.wrong {
		if c.otherClass(of.class, of.method) {
			c.isVoid(n)
		}
	}
	found := faults{}
	for _, f := range c.found {
		if !c.otherClass(f.class, f.method) {
			if samplerTypes[f.Sampler] {
				f.Touches, f.Samples, f.Events = TouchesSamples, f.Count, 0
				r.Touched = saturated(r.Touched, f.Count)
			}
			found.add(f.Fault)
		}
	}
	r.Checks = append(r.Checks, c.check)
	r.Faults = append(r.Faults, found.list()...)
	r.Notes = append(r.Notes, c.notes...)
	if c.otherBuild {
		r.Notes = append(r.Notes, fmt.Sprintf("%d of %d class files have other lines: they are of another build, "+
			"so that no edge can be called wrong", len(c.differing), c.classes))
	}
	for _, note := range []struct {
		classes []string
		text    string
	}{
		{c.differing, "the class files of %d classes are not those that ran (other lines): %s"},
		{slices.Sorted(maps.Keys(c.missing)), "%d classes are on no class path given: %s"},
	} {
		if n := len(note.classes); n > 0 {
			r.Notes = append(r.Notes, fmt.Sprintf(note.text, n, enumerate(note.classes)))
		}
	}
	for _, err := range c.path.Errors {
		r.Notes = append(r.Notes, err.Error())
	}
}

// enumerate names the first ones.
func enumerate(names []string) string {
	text := strings.Join(names[:min(len(names), foundDifferent)], ", ")
	if len(names) > foundDifferent {
		text += ", …"
	}
	return text
}

func protoMethod(f *misstepv1.Frame) string {
	if f.GetClassName() == "" {
		return f.GetMethod()
	}
	return f.GetClassName() + "." + f.GetMethod()
}

func protoStack(frames []*misstepv1.Frame) []string {
	return stackLines(len(frames), func(i int) string { return frameText(protoMethod(frames[i]), frames[i].GetBci()) })
}
