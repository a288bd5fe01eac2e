// Package samplers judges what several samplers saw of the same thread: JFR's CPU-time and execution samplers, async-profiler, and
// Thread.getAllStackTraces(), called by a Java thread of the agent's.
//
// A sample of one sampler is compared with what the samples of another before and after it have in common from the bottom. That is
// weak where stacks move: a thread may leave a method and come back between two samples. It is exact where a workload says which
// stack stood on which thread from when to when: then each sample has that stack below what moved; and where a thread did not run,
// by its CPU time: then all samples have one stack.
package samplers

import (
	"time"

	"misstep/agent"
	"misstep/runner/recording"
)

// Sampler is who took a sample.
type Sampler uint8

// The samplers. Those of JFR are jdk.CPUTimeSample (JDK 25 and later), jdk.ExecutionSample and jdk.NativeMethodSample.
const (
	JFRCPUTime Sampler = iota
	JFRExecution
	JFRNative
	AsyncProfiler
	AllStackTraces
	// GetStackTrace is JVMTI's, asked for threads that do not run.
	GetStackTrace
	samplerCount
)

// String is the sampler's name, which is also the source of its traces in mismatches.
func (s Sampler) String() string {
	return [samplerCount]string{
		"jfr-cpu-time", "jfr-execution", "jfr-native", "async-profiler", "all-stack-traces", "get-stack-trace",
	}[s]
}

// Options of a judge.
type Options struct {
	// AsyncProfiler says that the recording is async-profiler's, whose jdk.ExecutionSamples are its own.
	AsyncProfiler bool
	// Samples that are kept, from which the rest is judged as void; default 2,097,152 (32 bytes each).
	Samples int
	// Mismatches that are kept apart; default 256.
	Mismatches int
}

// Judge collects the samples of a trial. It is used by one goroutine.
type Judge struct {
	options Options
	stacks  *stacks
	threads []thread
	byID    map[threadID]uint32
	samples []sample
	overrun uint64

	held      map[int64][]span // by Java thread id
	heldCount int
	cpu       map[int64]time.Duration

	recorded map[*recording.Stack]kept // of this chunk
	traced   map[uint32]tracedStack    // by thread: the last one
}

// threadID is the id of a Java thread, or of a thread of the VM's in the kernel.
type threadID struct{ java, os int64 }

type thread struct {
	java, os int64
	name     string
	lost     [samplerCount]int64
	failed   [samplerCount]int64
}

// sample is one stack trace, taken between begin and end, in nanoseconds since the epoch.
type sample struct {
	begin, end int64
	thread     uint32
	kept
	sampler Sampler
	// stood says that the thread did not run from the round before to the end of this one, or since it if it is GetStackTrace's.
	stood bool
	// stand numbers the times in which the thread stood (lanes.number), 0 outside.
	stand int32
}

// kept is a stack's number, and why it cannot be judged.
type kept struct {
	stack uint32
	state stackState
}

type stackState uint8

const (
	usable stackState = iota
	truncated
	absent
	unknownMethod
	incomplete
	noRoom
)

// tracedStack is a stack of Thread.getAllStackTraces(), known by its first frame.
type tracedStack struct {
	first *agent.StackFrame
	kept
}

// New returns a judge without samples.
func New(o Options) *Judge {
	if o.Samples == 0 {
		o.Samples = 1 << 21
	}
	if o.Mismatches == 0 {
		o.Mismatches = 256
	}
	return &Judge{
		options: o, stacks: newStacks(), byID: map[threadID]uint32{}, held: map[int64][]span{},
		cpu: map[int64]time.Duration{}, recorded: map[*recording.Stack]kept{}, traced: map[uint32]tracedStack{},
	}
}

// Visit takes a record of the trial's recordings.
func (j *Judge) Visit(r recording.Record) error {
	switch r := r.(type) {
	case *recording.Chunk:
		clear(j.recorded)
	case *recording.Event:
		j.event(r)
	case *recording.Lost:
		if r.Thread != nil {
			j.threads[j.thread(r.Thread.Java, r.Thread.OS, r.Thread.Name)].lost[JFRCPUTime] += r.Samples
		}
	}
	return nil
}

func (j *Judge) event(e *recording.Event) {
	by, ok := j.samplerOf(e.Type)
	if !ok || e.Thread == nil || e.Thread.Name == stackSampler {
		return
	}
	number := j.thread(e.Thread.Java, e.Thread.OS, e.Thread.Name)
	if e.Failed == recording.True {
		j.threads[number].failed[by]++
	}
	j.add(sample{begin: e.StartNanos, end: e.StartNanos, thread: number, kept: j.keepRecorded(e.Stack), sampler: by})
}

// stackSampler is the name of the thread that calls Thread.getAllStackTraces() (agent, StackSampler.java), which it does not show.
const stackSampler = "misstep-stacks"

func (j *Judge) samplerOf(event string) (Sampler, bool) {
	switch event {
	case "jdk.CPUTimeSample":
		return JFRCPUTime, true
	case "jdk.ExecutionSample":
		if j.options.AsyncProfiler {
			return AsyncProfiler, true
		}
		return JFRExecution, true
	case "jdk.NativeMethodSample":
		return JFRNative, true
	}
	return 0, false
}

// Round takes the stack traces of one call of Thread.getAllStackTraces(), or of one of GetStackTrace.
func (j *Judge) Round(r agent.StackRound) error {
	by := AllStackTraces
	if r.Again {
		by = GetStackTrace
	}
	for _, s := range r.Stacks {
		number, k := j.thread(s.Thread.Java, 0, s.Thread.Name), kept{state: absent}
		if len(s.Frames) > 0 {
			last := j.traced[number]
			if last.first != &s.Frames[0] {
				last = tracedStack{&s.Frames[0], j.stacks.keep(j.stacks.traced(s.Frames))}
				j.traced[number] = last
			}
			k = last.kept
		}
		j.add(sample{begin: r.Begin, end: r.End, thread: number, kept: k, sampler: by, stood: s.Stood})
	}
	return nil
}

func (j *Judge) add(s sample) {
	if len(j.samples) == j.options.Samples {
		j.overrun++
		return
	}
	j.samples = append(j.samples, s)
}

func (j *Judge) keepRecorded(s *recording.Stack) kept {
	if s == nil {
		return kept{state: absent}
	}
	if k, known := j.recorded[s]; known {
		return k
	}
	frames, state := j.stacks.recorded(s)
	k := kept{state: state}
	if state == usable {
		k = j.stacks.keep(frames)
	}
	j.recorded[s] = k
	return k
}

// thread returns the number of a thread: by its Java id, which is not used twice in a JVM, or by the kernel's without one.
func (j *Judge) thread(java, os int64, name string) uint32 {
	id := threadID{java: java}
	if java == 0 {
		id.os = os
	}
	number, known := j.byID[id]
	if !known {
		number = uint32(len(j.threads))
		j.threads = append(j.threads, thread{java: java, name: name})
		j.byID[id] = number
	}
	if t := &j.threads[number]; t.os == 0 {
		t.os = os
	}
	return number
}
