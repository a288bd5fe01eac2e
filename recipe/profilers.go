package recipe

import (
	"slices"
	"time"

	misstepv1 "misstep/proto/misstep/v1"
)

// Names of the profilers that recipes may name; "" is ProfilerNone.
const (
	ProfilerNone  = "none"
	ProfilerJFR   = "jfr"
	ProfilerAsync = "async-profiler"
)

// DefaultProfilerInterval is the interval between the samples of a profiler if none is given; the others are the bounds of what may
// be given.
const (
	DefaultProfilerInterval = 10 * time.Millisecond
	minProfilerInterval     = 100 * time.Microsecond
	maxProfilerInterval     = time.Second
)

// AgentSignalBesideProfiler is the signal of the agent's sampler if a recipe has a profiler and names none. Without a profiler it
// is the agent's default, SIGPROF, which profilers take for themselves.
const AgentSignalBesideProfiler = "SIGURG"

// Profiler is what recipes must know of one profiler; how it is started is in runner/profiler.
type Profiler struct {
	// Word is its name, what it is, and where its behaviour is defined.
	Word
	// Signals that it takes for itself, so that the agent's sampler cannot.
	Signals []string
	// problem returns what is wrong with one of its options, "" if nothing.
	problem func(option string) string
}

var profilers = []Profiler{
	{
		Word{
			ProfilerJFR,
			"JDK Flight Recorder with its execution samplers and, from JDK 25 on, its CPU-time sampler; on JDK 8 only where the " +
				"build has it",
			"JEP 328, JEP 509, JEP 518",
		},
		[]string{"SIGPROF"},
		jfrProblem,
	},
	{
		Word{
			ProfilerAsync, "async-profiler's agent, which writes a recording of its own in JFR's format",
			"async-profiler arguments.cpp",
		},
		[]string{"SIGPROF", "SIGVTALRM"},
		asyncProblem,
	},
}

// anyProfiler are the names of all profilers.
var anyProfiler = []string{ProfilerJFR, ProfilerAsync}

// Profilers returns every profiler that a recipe may name. Their slices are shared: do not change them.
func Profilers() []Profiler { return slices.Clone(profilers) }

// FindProfiler finds a profiler by name.
func FindProfiler(name string) (Profiler, bool) {
	i := slices.IndexFunc(profilers, func(p Profiler) bool { return p.Name == name })
	if i < 0 {
		return Profiler{}, false
	}
	return profilers[i], true
}

// HasProfiler reports whether a profiler is one: neither absent nor "none".
func HasProfiler(p *misstepv1.Profiler) bool { return p.GetName() != "" && p.GetName() != ProfilerNone }

// ProfilerName returns the name of a profiler, "none" for none.
func ProfilerName(p *misstepv1.Profiler) string {
	if !HasProfiler(p) {
		return ProfilerNone
	}
	return p.GetName()
}

// ProfilerInterval returns the interval between the samples of a profiler: its own or the default.
func ProfilerInterval(p *misstepv1.Profiler) time.Duration {
	if d := p.GetInterval().AsDuration(); d > 0 {
		return d
	}
	return DefaultProfilerInterval
}

// BoundedProfilerInterval returns the interval that a profiler may have that is nearest to d.
func BoundedProfilerInterval(d time.Duration) time.Duration {
	return min(max(d, minProfilerInterval), maxProfilerInterval)
}

// AgentSignal returns the signal by which the agent's sampler signals threads under a recipe; "" is the agent's default.
func AgentSignal(r *misstepv1.Recipe) string {
	if signal := r.GetSampling().GetSignal(); signal != "" || !HasProfiler(r.GetProfiler()) {
		return signal
	}
	return AgentSignalBesideProfiler
}

// Judges reports whether the check can be made of a trial with the profiler.
func (c Check) Judges(p *misstepv1.Profiler) bool {
	return len(c.Profilers) == 0 || slices.Contains(c.Profilers, p.GetName())
}
