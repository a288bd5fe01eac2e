// Package shadow judges the samples in a recording by the shadow that the tap copied in the signal that took them: the checks
// jfr-shadow and profiler-shadow.
package shadow

import (
	"strings"

	"misstep/agent"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/runner/judge"
	"misstep/runner/judge/classes"
	"misstep/runner/judge/tapped"
	"misstep/runner/recording"
)

// Source is whose recording it is, as a mismatch names it.
type Source string

// Sources.
const (
	JFR           Source = "jfr"
	AsyncProfiler Source = "async-profiler"
)

// Input is what a judge needs besides the recording.
type Input struct {
	// Check is the name of the check that it judges.
	Check string
	// Source of the recording, and for AsyncProfiler the walker, as "vm".
	Source Source
	Walker string
	// Feature is the version of the JDK that ran, as 25.
	Feature int
	// Tap is the content of tap.bin.
	Tap *agent.Tap
	// Methods lists the instrumented methods, "package/Class.name(descriptor)result" (agent.FileMethods).
	Methods []string
	// Limit is the most mismatches that are kept.
	Limit int
}

// Judge judges one trial's recordings. It is for one goroutine.
type Judge struct {
	in      Input
	taken   *tapped.Samples
	methods *methods
	count   *misstepv1.CheckCount
	seen    map[string]*misstepv1.Mismatch
	strangers
}

// New returns a judge that has seen nothing.
func New(in Input) *Judge {
	return &Judge{
		in: in, taken: tapped.New(in.Tap, in.Source == AsyncProfiler), methods: methodsOf(in.Tap, in.Methods),
		count: &misstepv1.CheckCount{
			Check: in.Check, Tolerated: map[string]uint64{}, Unwalkable: map[int32]uint64{}, Void: map[string]uint64{},
		},
		seen: map[string]*misstepv1.Mismatch{},
	}
}

// Visit takes one record. It never fails.
func (j *Judge) Visit(r recording.Record) error {
	j.taken.Visit(r)
	return nil
}

// cooperative is the JDK from which a thread walks its own stack, at the safepoint after the signal (JEP 518).
const cooperative = 25

// Verdicts judges all that was visited.
func (j *Judge) Verdicts() judge.Verdicts {
	samples, _ := j.judge()
	for i, s := range samples {
		j.add(i, s)
	}
	return judge.Verdicts{Count: j.count, Mismatches: j.mismatches()}
}

// roots are the outermost methods of each thread's traces that match.
type roots map[uint32]map[string]bool

// end reports whether a trace of a thread may end at the outermost method of a stack: one that matched ended there, or none has
// matched and the method is none that the VM calls on behalf of Java code below it (as JDK-8303444 cuts traces).
func (r roots) end(tid uint32, stack []frame) bool {
	if len(r[tid]) > 0 {
		return r[tid][rootOf(stack)]
	}
	return len(stack) == 0 || !upcall(stack[0].raw)
}

func upcall(m *recording.Method) bool {
	return m != nil && classes.Upcall(strings.ReplaceAll(m.Class, ".", "/"), m.Name, m.Descriptor) != 0
}

// judge compares all samples with their shadows.
func (j *Judge) judge() ([]judged, roots) {
	samples, known := j.samples(), roots{}
	for i, s := range samples {
		if s.sample == nil {
			continue
		}
		s.bottom = true
		samples[i].verdict = compare(s.sample)
		if tid := j.taken.Events[i].TID; samples[i].verdict == (verdict{}) && len(s.shadow) > 0 {
			if known[tid] == nil {
				known[tid] = map[string]bool{}
			}
			known[tid][rootOf(s.stack)] = true
		}
	}
	for i, s := range samples {
		if s.sample != nil && s.rule+s.kind != "" {
			s.bottom = known.end(j.taken.Events[i].TID, s.stack)
			samples[i].verdict = compare(s.sample)
		}
	}
	return samples, known
}

// samplerOf names the sampler that wrote an event.
func (j *Judge) samplerOf(e *tapped.Event) string {
	if j.in.Source == AsyncProfiler {
		return j.in.Walker
	}
	return e.Type
}

// judged is an event's sample, or its verdict where there is none to compare.
type judged struct {
	*sample
	call *agent.TapCall
	// stand says that the call is none of a handler (tapped.Found).
	stand bool
	verdict
}
