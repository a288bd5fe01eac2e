package jfrcheck

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"misstep/runner/recording"
)

const (
	// mostGroups bounds the threads and the methods that are told apart.
	mostGroups = 1 << 18
	others     = "(others)"
	noThread   = "(no thread)"
	noMethod   = "(no stack trace)"
	unknown    = "(unknown method)"
)

// lostEvent is the type whose events count what the sampler by CPU time had no room for.
const lostEvent = "jdk.CPUTimeSample"

// samplerTypes are the events that samplers write, of JFR, async-profiler and what is made of it.
var samplerTypes = map[string]bool{
	"jdk.ExecutionSample": true, "jdk.NativeMethodSample": true, lostEvent: true, "profiler.WallClockSample": true,
	"datadog.ExecutionSample": true, "datadog.MethodSample": true,
}

// samples counts samples by sampler, thread and innermost method.
type samples struct {
	samplers, threads, methods map[string]*Counts
	intervals                  *intervals
	asked                      map[string]string
	tops                       map[*recording.Stack]top // of this chunk
}

func newSamples() *samples {
	return &samples{
		samplers: map[string]*Counts{}, threads: map[string]*Counts{}, methods: map[string]*Counts{}, intervals: newIntervals(),
		asked: map[string]string{}, tops: map[*recording.Stack]top{},
	}
}

// top is what counts of a stack.
type top struct {
	method  string
	lacking Counts
}

// Visit takes a record.
func (s *samples) Visit(r recording.Record) error {
	switch r := r.(type) {
	case *recording.Chunk:
		s.intervals.chunkEnds()
		clear(s.tops)
	case *recording.Event:
		if samplerTypes[r.Type] {
			s.event(r)
		}
	case *recording.Lost:
		s.count(lostEvent, threadName(r.Thread), "", Counts{Lost: uint64(max(r.Samples, 0))})
	case *recording.Setting:
		s.setting(r)
	}
	return nil
}

func (s *samples) event(e *recording.Event) {
	c, method := Counts{Empty: 1}, noMethod
	if e.Stack != nil && len(e.Stack.Frames) > 0 {
		t := s.top(e.Stack)
		c, method = t.lacking, t.method
	}
	c.Samples = 1
	c.Failed, c.Biased = toOne(e.Failed == recording.True), toOne(e.Biased == recording.True)
	name := threadName(e.Thread)
	s.count(e.Type, name, method, c)
	if t := e.Thread; t != nil {
		s.intervals.sample(lane{e.Type, name, t.Java, t.OS}, e.StartNanos)
	}
}

func toOne(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// count adds to the groups. Without a method it is of none.
func (s *samples) count(sampler, thread, method string, c Counts) {
	group(s.samplers, sampler).add(c)
	group(s.threads, thread).add(c)
	if method != "" {
		group(s.methods, method).add(c)
	}
}

func group(groups map[string]*Counts, name string) *Counts {
	if c := groups[name]; c != nil {
		return c
	}
	if len(groups) >= mostGroups {
		name = others
		if c := groups[name]; c != nil {
			return c
		}
	}
	c := &Counts{}
	groups[name] = c
	return c
}

func threadName(t *recording.Thread) string {
	switch {
	case t == nil:
		return noThread
	case t.Name == "":
		return fmt.Sprintf("(thread %d)", cmp.Or(t.Java, t.OS))
	}
	return t.Name
}

func (s *samples) top(of *recording.Stack) top {
	t, known := s.tops[of]
	if !known {
		t = top{method: methodName(of.Frames[0].Method), lacking: Counts{
			Truncated: toOne(of.Truncated || of.Cut),
			Unknown:   toOne(slices.ContainsFunc(of.Frames, func(f recording.Frame) bool { return f.Method == nil })),
		}}
		s.tops[of] = t
	}
	return t
}

func methodName(m *recording.Method) string {
	switch {
	case m == nil || m.Name == "" && m.Class == "":
		return unknown
	case m.Class == "":
		return m.Name
	}
	return m.Class + "." + m.Name
}

// intervalSettings are the settings that ask a sampler for an interval.
var intervalSettings = []string{"period", "throttle", "interval"}

// setting notes the interval that was asked of a sampler: the last one that is not a default of a sampler that is off.
func (s *samples) setting(r *recording.Setting) {
	if samplerTypes[r.Type] && slices.Contains(intervalSettings, strings.ToLower(r.Name)) && r.Value != "" && r.Value != "off" {
		s.asked[r.Type] = lengthOf(r.Value)
	}
}

// lengthOf is the value of a setting with its unit: async-profiler's are nanoseconds.
func lengthOf(value string) string {
	if nanos, err := strconv.ParseInt(value, 10, 64); err == nil {
		return time.Duration(nanos).String()
	}
	return value
}

// ends forgets the last samples: the next recording may be of another JVM.
func (s *samples) ends(*Recording) {
	s.intervals.recordingEnds()
	clear(s.tops)
}

// report fills the report's tables with at most top rows each; a row that has nothing but usable samples is shown as well.
func (s *samples) report(r *Report, top int) {
	for event, c := range s.samplers {
		r.Samplers = append(r.Samplers, Sampler{
			Event: event, Counts: *c, Asked: s.asked[event],
			Median: s.intervals.lengths[event].quantile(0.5), P90: s.intervals.lengths[event].quantile(0.9),
		})
	}
	slices.SortFunc(r.Samplers, func(a, b Sampler) int {
		return cmp.Or(cmp.Compare(b.Samples+b.Lost, a.Samples+a.Lost), cmp.Compare(a.Event, b.Event))
	})
	for _, g := range topGroups(s.threads, top) {
		l := s.intervals.ofThread(g.Name)
		r.Threads = append(r.Threads, Thread{Group: g, Median: l.quantile(0.5), P90: l.quantile(0.9)})
	}
	r.Methods = topGroups(s.methods, top)
	if s.intervals.overrun {
		r.Notes = append(r.Notes, fmt.Sprintf("a chunk has more than %d samples: intervals are of its first ones only", mostTimes))
	}
}

// topGroups returns the groups with the most samples, and the sum of the others.
func topGroups(groups map[string]*Counts, top int) []Group {
	list := make([]Group, 0, len(groups))
	for name, c := range groups {
		list = append(list, Group{name, *c})
	}
	slices.SortFunc(list, func(a, b Group) int {
		return cmp.Or(cmp.Compare(b.Samples+b.Lost, a.Samples+a.Lost), cmp.Compare(a.Name, b.Name))
	})
	if len(list) <= top {
		return list
	}
	rest := Group{Name: others}
	for _, g := range list[top:] {
		rest.add(g.Counts)
	}
	return append(list[:top:top], rest)
}
