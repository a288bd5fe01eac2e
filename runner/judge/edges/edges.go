// Package edges judges every stack trace of every event of a recording (check event-edges): whether the instruction at the bytecode
// index of each frame can have called the frame above it.
//
// It has the rules of the agent's check edges (agent/native/src/edges.cpp). What the instructions can call comes from the agent's
// file of sites, which has the classes as the JVM ran them: instrumented, generated and redefined ones included.
package edges

import (
	"fmt"
	"slices"
	"strings"

	"misstep/agent"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
	"misstep/runner/judge"
	"misstep/runner/judge/tapped"
	"misstep/runner/recording"
)

// Input is what a Judge needs to know besides the recordings.
type Input struct {
	Program *Program
	// Profiler made the recordings: recipe.ProfilerJFR, or recipe.ProfilerAsync by one Walker for all events; JFR's is empty.
	Profiler, Walker string
	// Feature version of the JDK, 0 where it is not known.
	Feature int
	// Tap notes where the signals of samplers hit; nil where nothing did.
	Tap *agent.Tap
	// Limit is the number of mismatch records that are kept; further ones are counted.
	Limit int
}

// executionSample is the type of the samples of threads in Java code.
const executionSample = "jdk.ExecutionSample"

// cooperative is the feature version from which on JFR walks at the next safepoint (JEP 518).
const cooperative = 25

// Asynchronous reports whether the stacks of a type of event are walked from any instruction. JFR's sampler of native methods walks
// from the thread's anchor; all other events have stacks of threads that ask for them.
func (in Input) Asynchronous(event string) bool {
	switch event {
	case executionSample:
		return in.Profiler == recipe.ProfilerAsync || in.Feature < cooperative
	case "profiler.WallClockSample":
		return true
	}
	return false
}

// Judge judges the events of a trial's recordings. It is used by one goroutine.
type Judge struct {
	in Input

	edges, traces tally
	number        uint64 // of events
	found         map[place]*misstepv1.Mismatch
	// taken are the samples of the tap's signals; waiting are impossible edges of them, until it is known where the signals hit.
	taken   *tapped.Samples
	waiting []waiting

	explained map[edge]Explanation
	known     map[named]*method
	// methods of the current chunk, and of others that share them.
	methods map[*recording.Method]*method
	stacks  map[*recording.Stack]*verdict // of the current chunk
}

// mostMethods are kept from chunk to chunk.
const mostMethods = 1 << 16

// tally counts by the explanation.
type tally [explanations]uint64

// named is a method's identity in recordings: loaders are not told apart.
type named struct{ class, name, descriptor string }

// method is a method of the recording, with those versions of it that are known.
type method struct {
	named
	versions []*version
}

// edge is a pair of adjacent frames. Without padding it is hashed at once.
type edge struct {
	caller, callee *method
	bci            int64
}

// verdict is that of a stack.
type verdict struct {
	frames []frame
	edges  tally
	// weakest is the explanation of the edge that is explained worst.
	weakest Explanation
	// impossible are the indices in frames of the callees of impossible edges, from the top.
	impossible []int
}

// frame is a frame of a Java method.
type frame struct {
	*method
	bci int32
}

// New returns a judge.
func New(in Input) *Judge {
	j := &Judge{
		in: in, found: map[place]*misstepv1.Mismatch{}, explained: map[edge]Explanation{}, known: map[named]*method{},
		methods: map[*recording.Method]*method{}, stacks: map[*recording.Stack]*verdict{},
	}
	if in.Tap != nil && in.Asynchronous(executionSample) { // else no sample has a place that its signal hit
		j.taken = tapped.New(in.Tap, in.Profiler == recipe.ProfilerAsync)
	}
	return j
}

// Visit takes a record of a recording. It returns no error.
func (j *Judge) Visit(record recording.Record) error {
	sampled := j.taken != nil && j.taken.Visit(record)
	switch r := record.(type) {
	case *recording.Chunk: // events of a chunk share what they point to, and chunks may share methods
		if len(j.methods) > mostMethods {
			clear(j.methods)
		}
		clear(j.stacks)
	case *recording.Event:
		j.number++
		if r.Stack != nil {
			j.event(r, sampled)
		}
	}
	return nil
}

func (j *Judge) event(e *recording.Event, sampled bool) {
	v := j.stacks[e.Stack]
	if v == nil {
		v = j.judge(e.Stack)
		j.stacks[e.Stack] = v
	}
	if len(v.frames) < 2 {
		return
	}
	for i, n := range v.edges {
		j.edges[i] += n
	}
	j.traces[v.weakest]++
	for _, callee := range v.impossible {
		if j.filtered(e.Type, v.frames[callee+1]) {
			j.edges[Nothing]--
			j.edges[Filtered]++
			continue
		}
		one := impossible{e, v.frames, callee, j.number}
		if sampled && j.in.Asynchronous(e.Type) {
			j.waiting = append(j.waiting, waiting{one, len(j.taken.Events) - 1})
			continue
		}
		j.keep(one, nil)
	}
}

// judge judges a stack. That it is truncated makes no edge of it worse.
func (j *Judge) judge(s *recording.Stack) *verdict {
	v := &verdict{}
	for i := range s.Frames {
		m := s.Frames[i].Method
		if unnamed(m) {
			m = nil
		}
		if m == nil || m.Descriptor != pseudo {
			v.frames = append(v.frames, frame{j.methodOf(m), s.Frames[i].BCI})
		}
	}
	for i := range max(0, len(v.frames)-1) {
		x := j.explain(edge{v.frames[i+1].method, v.frames[i].method, int64(v.frames[i+1].bci)})
		v.edges[x]++
		v.weakest = max(v.weakest, x)
		if x == Nothing {
			v.impossible = append(v.impossible, i)
		}
	}
	return v
}

// pseudo is the descriptor of async-profiler's frames that are no methods: native and kernel functions, stubs, errors
// (flightRecorder.cpp: Lookup). What the VM's code between two Java frames has called is the edge between these.
const pseudo = "()L;"

// nameless are the names of Java frames of which async-profiler does not know the method: the JVM gave it no id, as of a class that
// is being loaded, or the id is no longer one (lookup.cpp: Lookup::resolveMethod). The last one is what Datadog's profiler writes.
var nameless = []string{"unknown", "stale_jmethodID", "<unloaded>"}

// unnamed reports whether a frame is such a one.
func unnamed(m *recording.Method) bool {
	return m != nil && m.Descriptor == pseudo && slices.Contains(nameless, m.Name)
}

// methodOf returns the method of a frame; nil is a method that the chunk lacks.
func (j *Judge) methodOf(m *recording.Method) *method {
	if known := j.methods[m]; known != nil {
		return known
	}
	var name named
	if m != nil {
		name = named{m.Class, m.Name, m.Descriptor}
	}
	known := j.known[name]
	if known == nil {
		known = &method{name, j.in.Program.method(name.class, name.name, name.descriptor)}
		j.known[name] = known
	}
	j.methods[m] = known
	return known
}

func (j *Judge) explain(e edge) Explanation {
	x, known := j.explained[e]
	if !known {
		x = j.in.Program.explain(e.caller.versions, int32(e.bci), e.callee.versions)
		j.explained[e] = x
	}
	return x
}

// Verdicts of all edges. The unit of the count is the edge, not the trace.
func (j *Judge) Verdicts() judge.Verdicts {
	count := &misstepv1.CheckCount{
		Check: recipe.EventEdges, Match: j.edges[Call], Mismatch: j.edges[Nothing],
		Tolerated: map[string]uint64{}, Void: map[string]uint64{},
	}
	for x, n := range j.edges {
		count.Total += n
		if rule := rules[Explanation(x)]; n > 0 && rule != "" {
			count.Tolerated[rule] = n
		}
	}
	if n := j.edges[Unknown]; n > 0 {
		count.Void["unknown-method"] = n
	}
	j.settle()
	return judge.Verdicts{Count: count, Mismatches: j.mismatches()}
}

// rules of the explanations that tolerate an edge (recipe.Words).
var rules = map[Explanation]string{
	Upcall: "vm-upcall", MethodHandle: "method-handle", NativeCaller: "native-caller", Filtered: "stack-filter",
	Redefined: "retransformed",
}

// names of the explanations, as the agent's log has them for the check edges.
var names = [explanations]string{
	"call", "vm-upcall", "method-handle", "native-caller", "stack-filter", "redefined", "unknown", "impossible",
}

func (t tally) String() string {
	var b strings.Builder
	for i, n := range t {
		fmt.Fprintf(&b, " %d %s", n, names[i])
	}
	return b.String()
}

// String returns the counts of edges, and of traces by the edge of each that is explained worst. One such edge says nothing against
// the others of its trace.
func (j *Judge) String() string {
	return "edges judged:" + j.edges.String() + "; traces:" + j.traces.String()
}
