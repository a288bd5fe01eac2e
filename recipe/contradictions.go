package recipe

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	misstepv1 "misstep/proto/misstep/v1"
)

// needs finds what checks lack to do any work.
func (v *Violations) needs(s Settings) {
	if s.unbounded() {
		return // which has been said
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
			v.Addf(fmt.Sprintf("checks[%d].name", i), "%s judges the traces that other checks take: expected one of %s too",
				need.Name, namesWith(walks))
		}
	}
	for i, in := range s.Instrumentation {
		if methods != "" && in.GetRatio() == 0 && len(in.GetOnly()) == 0 {
			v.Addf(fmt.Sprintf("instrumentation[%d].ratio", i),
				"nothing would be instrumented, and the check %s needs instrumented methods: expected more than 0", methods)
		}
	}
	if signals != "" && len(s.Sampling) == 0 {
		v.Addf("sampling", "is required: the check %s needs signals, for example an entry with interval 1ms", signals)
	}
	for i, one := range s.Sampling {
		if d, ok := Duration(one.GetInterval()); ok && d == 0 && signals != "" {
			v.Addf(fmt.Sprintf("sampling[%d].interval", i),
				"no signal would be sent, and the check %s needs signals: expected a duration from %v to %v",
				signals, minInterval, maxInterval)
		}
	}
}

// unused finds what is said of methods and signals although nothing asks for them, and what contradicts a list of methods. The
// agent would refuse it or never see it: either way the trials would not be what their author asked for.
func (v *Violations) unused(s Settings) {
	if s.unbounded() {
		return // which has been said
	}
	methods := NeedsMethods(s.Checks, s.Perturb...)
	for i, in := range s.Instrumentation {
		at := fmt.Sprintf("instrumentation[%d]", i)
		some, patterns := in.GetRatio() > 0 && in.GetRatio() < 1, len(in.GetInclude())+len(in.GetExclude()) > 0
		if !methods && (some || patterns || len(in.GetOnly()) > 0) {
			v.Addf(at, "chooses among methods, but none is instrumented without the check %s or a perturbation by the agent: "+
				"ask for one of them, or leave it out", anyOf(func(c Check) bool { return c.Methods }))
		} else if len(in.GetOnly()) > 0 && (in.GetRatio() > 0 || patterns) {
			v.Addf(at+".only",
				"lists the methods that are instrumented, so ratio, include and exclude have nothing to choose from: "+
					"leave them out, or only")
		}
	}
	signals, bursts := NeedsSignals(s.Checks), TakesBursts(s.Checks)
	for i, one := range s.Sampling {
		at := fmt.Sprintf("sampling[%d]", i)
		if !signals && !proto.Equal(one, &misstepv1.Sampling{}) {
			v.Addf(at, "no signal is sent without the check %s: ask for one of them, or leave it out",
				anyOf(func(c Check) bool { return c.Signals }))
		} else if one.GetBurst() > 1 && !bursts {
			v.Addf(at+".burst", "bursts are the check %s's, which is not asked for",
				namesWith(func(c Check) bool { return c.Burst }))
		}
	}
}

// unbounded reports whether lists are longer than anybody needs.
func (s Settings) unbounded() bool {
	return max(len(s.Checks), len(s.Instrumentation), len(s.Sampling), len(s.Perturb)) > MaxList
}

// namesWith lists the checks that have a property: "a, b, c".
func namesWith(has func(Check) bool) string { return strings.Join(having(has), ", ") }

// anyOf lists the checks that have a property: "a, b or c".
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
