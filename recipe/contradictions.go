package recipe

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	misstepv1 "misstep/proto/misstep/v1"
)

// needs adds what checks lack to do any work.
func (v *Violations) needs(s Settings) {
	if s.unbounded() {
		return // already reported
	}
	methods, signals := "", "" // the first check that needs them
	for i, ch := range s.Checks {
		need, _ := FindCheck(ch.GetName())
		if methods == "" && need.Methods {
			methods = need.Name
		}
		if signals == "" && need.Signals {
			signals = need.Name
		}
		if need.Traces && !anyCheck(s.Checks, walks) {
			v.Addf(fmt.Sprintf("checks[%d].name", i), "%s judges the traces of other checks: add one of %s",
				need.Name, namesWith(walks))
		}
		if !need.Judges(nil) && !slices.ContainsFunc(s.Profilers, need.Judges) {
			v.Addf("profiler", "the check %s judges recordings of %s: add {name: %s}, or remove the check",
				need.Name, strings.Join(need.Profilers, " or "), need.Profilers[0])
		}
	}
	for i, p := range s.Profilers {
		if !HasProfiler(p) && len(s.Checks) > 0 && !anyCheck(s.Checks, func(c Check) bool { return c.Judges(p) }) {
			v.Addf(fmt.Sprintf("profiler[%d]", i), "nothing would be checked, since each of the checks judges recordings: "+
				"remove this, or add a check that needs no profiler, such as %s", Liveness)
		}
	}
	for i, in := range s.Instrumentation {
		if methods != "" && in.GetRatio() == 0 && len(in.GetOnly()) == 0 {
			v.Addf(fmt.Sprintf("instrumentation[%d].ratio", i),
				"nothing would be instrumented, but the check %s needs instrumented methods: expected more than 0", methods)
		}
	}
	if signals != "" && len(s.Sampling) == 0 {
		v.Addf("sampling", "is required: the check %s needs signals, for example an entry with interval 1ms", signals)
	}
	for i, one := range s.Sampling {
		if d, ok := Duration(one.GetInterval()); ok && d == 0 && signals != "" {
			v.Addf(fmt.Sprintf("sampling[%d].interval", i),
				"no signal would be sent, but the check %s needs signals: expected a duration from %v to %v",
				signals, minInterval, maxInterval)
		}
	}
}

// unused adds settings of methods and signals that nothing uses, and those that contradict a list of methods. The agent would
// refuse or ignore them: either way the trials would not be what their author asked for.
func (v *Violations) unused(s Settings) {
	if s.unbounded() {
		return // already reported
	}
	methods := NeedsMethods(s.Checks, s.Perturb...)
	for i, in := range s.Instrumentation {
		at := fmt.Sprintf("instrumentation[%d]", i)
		some := in.GetRatio() > 0 && in.GetRatio() < 1
		patterns := len(in.GetInclude())+len(in.GetExclude()) > 0 || in.GetWithoutLeaves()
		if !methods && (some || patterns || len(in.GetOnly()) > 0) {
			v.Addf(at, "selects methods, but none is instrumented without the check %s or a perturbation by the agent: "+
				"add one of them, or remove this", anyOf(func(c Check) bool { return c.Methods }))
		} else if len(in.GetOnly()) > 0 && (in.GetRatio() > 0 || patterns) {
			v.Addf(at+".only",
				"lists the methods that are instrumented, so ratio, include, exclude and without_leaves have no effect: "+
					"remove them, or only")
		}
	}
	signals, bursts := NeedsSignals(s.Checks), TakesBursts(s.Checks)
	for i, one := range s.Sampling {
		at := fmt.Sprintf("sampling[%d]", i)
		if !signals && !proto.Equal(one, &misstepv1.Sampling{}) {
			v.Addf(at, "no signal is sent without the check %s: add one of them, or remove this",
				anyOf(func(c Check) bool { return c.Signals }))
		} else if one.GetBurst() > 1 && !bursts {
			v.Addf(at+".burst", "only the check %s sends bursts: add it, or remove this",
				namesWith(func(c Check) bool { return c.Burst }))
		}
	}
}

// unbounded reports whether a list is longer than MaxList.
func (s Settings) unbounded() bool {
	return max(len(s.Checks), len(s.Instrumentation), len(s.Sampling), len(s.Perturb), len(s.Profilers)) > MaxList
}

// namesWith returns the names of the checks that have a property: "a, b, c".
func namesWith(has func(Check) bool) string { return strings.Join(having(has), ", ") }

// anyOf returns the names of the checks that have a property: "a, b or c".
func anyOf(has func(Check) bool) string {
	names := having(has)
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}

func having(has func(Check) bool) []string {
	return Names(slices.DeleteFunc(Checks(), func(c Check) bool { return !has(c) }))
}
