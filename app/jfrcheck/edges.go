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
	// places counts those whose lines were compared, by class and by method.
	places map[code]*compared
	// differing are the classes that settle found, of so many that were compared.
	differing  []string
	compared   int
	otherBuild bool
	missing    map[string]bool
	traced     tracing
	// otherJDK is the JVM of a recording that is not of the given JDK's version; empty where all are, or do not say.
	otherJDK string
	jdk      string // its folder
	in       edges.Input
	starts   recordingStarts
	seen     map[*recording.Stack]bool // of this chunk
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
		missing: map[string]bool{}, traced: tracing{}, seen: map[*recording.Stack]bool{},
	}
}

// Visit takes a record.
func (c *codeEdges) Visit(r recording.Record) error {
	switch r := r.(type) {
	case *recording.Chunk:
		clear(c.seen)
		c.starts.chunk(r)
	case *recording.Setting:
		c.traced.setting(r)
		c.version(jvmVersion(r))
	case *recording.Event:
		c.starts.events++
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

func (c *codeEdges) report(r *Report) {
	c.settle()
	v := c.judge.Verdicts()
	check := Check{
		Name: recipe.EventEdges, What: "the instruction of each frame can call the frame above it", Unit: "edges",
		Right: v.Count.GetMatch(), Wrong: v.Count.GetMismatch(), Tolerated: v.Count.GetTolerated(), Void: v.Count.GetVoid(),
	}
	for _, m := range v.Mismatches {
		reference, suspect := m.GetReference().GetFrames(), m.GetSuspect()
		frames := suspect.GetFrames()
		c.attribute(m, r)
		callee := len(frames) - 1 - int(m.GetDivergence())
		caller := frames[callee+1]
		if c.otherClass(caller.GetClassName(), caller.GetMethod()) {
			check.Wrong -= m.GetCount()
			check.Void[otherFile] += m.GetCount()
			continue
		}
		detail := "no call stands there"
		if len(reference) > len(frames)-1-callee {
			detail = "the instruction there calls " + protoMethod(reference[0])
		}
		r.Faults = append(r.Faults, Fault{
			Check: recipe.EventEdges, Kind: m.GetKind(), Count: m.GetCount(), Sampler: suspect.GetSampler(), Detail: detail,
			Known: r.knownAs(m),
			Place: fmt.Sprintf("%s calls %s", frameText(protoMethod(caller), caller.GetBci()), protoMethod(frames[callee])),
			Stack: protoStack(frames),
		})
	}
	r.Checks = append(r.Checks, check)
	if c.otherJDK != "" {
		r.Notes = append(r.Notes, fmt.Sprintf("%s was not made by the JDK %s, so that no edge can be called wrong: "+
			"give its JDK as --jdk", c.otherJDK, c.jdk))
	}
	if c.otherJDK == "" && c.otherBuild {
		r.Notes = append(r.Notes, fmt.Sprintf("%d of %d class files have other lines: they are of another build, "+
			"so that no edge can be called wrong", len(c.differing), c.compared))
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

// attribute names async-profiler as the source of a mismatch in its recording. The judge was not told: what wrote a recording is
// known at its end.
func (c *codeEdges) attribute(m *misstepv1.Mismatch, r *Report) {
	if r.byAsync(c.starts.of(m.GetSequence())) {
		in, suspect := c.in, m.GetSuspect()
		in.Profiler = recipe.ProfilerAsync
		suspect.Source, suspect.Asynchronous = in.Profiler, in.Asynchronous(suspect.GetSampler())
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
	lines := make([]string, 0, min(len(frames), mostFrames))
	for _, f := range frames {
		if len(lines) == mostFrames {
			return append(lines, fmt.Sprintf("… %d more", len(frames)-mostFrames))
		}
		lines = append(lines, frameText(protoMethod(f), f.GetBci()))
	}
	return lines
}
