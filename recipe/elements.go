package recipe

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	misstepv1 "misstep/proto/misstep/v1"
)

// Element is a part of a recipe that can be removed.
type Element struct {
	Kind, Name string
	// Drop removes it from a recipe; a recipe that does not have it, or no longer, stays as it is.
	Drop func(*misstepv1.Recipe)
}

// ID identifies the element within its recipe.
func (e Element) ID() string { return e.Kind + " " + e.Name }

// Proto returns the element as a message.
func (e Element) Proto() *misstepv1.RecipeElement {
	return &misstepv1.RecipeElement{Kind: e.Kind, Name: e.Name}
}

// part is an element without its kind.
type part struct {
	name string
	drop func(*misstepv1.Recipe)
}

// reducible lists what a recipe can be reduced by: the kinds of elements, those that are seldom needed first, so that halving tends
// to cut between them and the others. find returns a recipe's elements of the kind if it is reduced for a mismatch of the given
// check; the check is "" for a crash or a hang.
var reducible = []struct {
	kind string
	find func(r *misstepv1.Recipe, check string) []part
}{
	{"repetitions", repetitions},
	{"argument", numbers},
	{"limit", limits},
	{"evidence", func(r *misstepv1.Recipe, _ string) []part {
		return one(r.GetEvidence() != "", r.GetEvidence(), func(r *misstepv1.Recipe) { r.Evidence = "" })
	}},
	{"check", checkParts},
	{"sampling", samplingParts},
	{"profiler", profilerParts},
	{"perturbation", perturbationParts},
	{"executor", func(r *misstepv1.Recipe, _ string) []part {
		e := r.GetExecutor()
		return one(e != "" && e != ExecutorHost, e, func(r *misstepv1.Recipe) { r.Executor = "" })
	}},
	{"seed", func(r *misstepv1.Recipe, _ string) []part {
		return one(r.GetSeed() != 0, decimal(r.GetSeed()), func(r *misstepv1.Recipe) { r.Seed = 0 })
	}},
	{"instrumentation", patternParts},
	{"argument", arguments},
	{"flag", flags},
}

// Elements returns what a recipe can be reduced by for a mismatch of the check, or for a crash or a hang if check is "".
// Instrumented methods are not included: see MethodElements.
func Elements(r *misstepv1.Recipe, check string) (out []Element) {
	for _, row := range reducible {
		for _, p := range row.find(r, check) {
			out = append(out, Element{row.kind, p.name, p.drop})
		}
	}
	return out
}

// one returns the part if the recipe has it.
func one(has bool, name string, drop func(*misstepv1.Recipe)) []part {
	if !has {
		return nil
	}
	return []part{{name, drop}}
}

func decimal[N uint32 | uint64](n N) string { return strconv.FormatUint(uint64(n), 10) }

func repetitions(r *misstepv1.Recipe, _ string) []part {
	n := r.GetWorkload().GetRepetitions()
	name := "the workload's own"
	if n > 0 {
		name = decimal(n)
	}
	return one(r.GetWorkload() != nil && n != 1, name, func(r *misstepv1.Recipe) { r.Workload.Repetitions = 1 })
}

// numbers returns the arguments above 1; dropping one of these sets it to 1.
func numbers(r *misstepv1.Recipe, _ string) (out []part) {
	for i, text := range r.GetWorkload().GetArguments() {
		if n, err := strconv.ParseUint(text, 10, 63); err == nil && n > 1 {
			out = append(out, part{text + " to 1", func(r *misstepv1.Recipe) {
				if i < len(r.Workload.Arguments) && r.Workload.Arguments[i] == text {
					r.Workload.Arguments[i] = "1"
				}
			}})
		}
	}
	return out
}

// limits returns the limits that differ from what expansion writes.
func limits(r *misstepv1.Recipe, _ string) (out []part) {
	if r.GetLimits() == nil {
		return nil
	}
	for _, x := range integerLimits {
		if value := *x.field(r.GetLimits()); value != 0 && (x.unwritten || value != x.standard) {
			out = append(out, part{x.name + " " + decimal(value), func(r *misstepv1.Recipe) { *x.field(r.Limits) = 0 }})
		}
	}
	return out
}

// checkSettings are the settings of a check that can be reset to their defaults; name returns "" if the setting has its default.
var checkSettings = []struct {
	name func(*misstepv1.Check) string
	drop func(*misstepv1.Check)
}{
	{func(c *misstepv1.Check) string { return prefixed("by ", c.GetReference()) }, func(c *misstepv1.Check) { c.Reference = "" }},
	{func(c *misstepv1.Check) string {
		if d := c.GetInterval().AsDuration(); d > 0 {
			return "each " + d.String()
		}
		return ""
	}, func(c *misstepv1.Check) { c.Interval = nil }},
}

// checkParts returns the settings of checks and the checks themselves: all but the one that found the mismatch; for a crash or a
// hang all, if there are at least two.
func checkParts(r *misstepv1.Recipe, check string) (out []part) {
	for _, c := range r.GetChecks() {
		name := c.GetName()
		for _, setting := range checkSettings {
			if text := setting.name(c); text != "" {
				out = append(out, part{name + " " + text, func(r *misstepv1.Recipe) {
					if i := slices.IndexFunc(r.Checks, func(c *misstepv1.Check) bool { return c.GetName() == name }); i >= 0 {
						setting.drop(r.Checks[i])
					}
				}})
			}
		}
		if name != check && (check != "" || len(r.GetChecks()) > 1) {
			out = append(out, part{name, func(r *misstepv1.Recipe) {
				r.Checks = slices.DeleteFunc(r.Checks, func(c *misstepv1.Check) bool { return c.GetName() == name })
				DropUnused(r)
			}})
		}
	}
	return out
}

// samplingSettings are the settings of sampling that can be reset to their defaults; name returns "" if the setting has its
// default.
var samplingSettings = []struct {
	name func(*misstepv1.Sampling) string
	drop func(*misstepv1.Sampling)
}{
	{
		func(s *misstepv1.Sampling) string { return positive("jitter %g", s.GetJitter(), 0) },
		func(s *misstepv1.Sampling) { s.Jitter = 0 },
	},
	{
		func(s *misstepv1.Sampling) string { return positive("burst %d", s.GetBurst(), 1) },
		func(s *misstepv1.Sampling) { s.Burst = 0 },
	},
	{
		func(s *misstepv1.Sampling) string { return positive("guesses %d", s.GetGuesses(), 0) },
		func(s *misstepv1.Sampling) { s.Guesses = 0 },
	},
	{
		func(s *misstepv1.Sampling) string { return prefixed("threads ", s.GetThreads()) },
		func(s *misstepv1.Sampling) { s.Threads = "" },
	},
	{
		func(s *misstepv1.Sampling) string { return prefixed("signal ", s.GetSignal()) },
		func(s *misstepv1.Sampling) { s.Signal = "" },
	},
}

func samplingParts(r *misstepv1.Recipe, check string) (out []part) {
	s := r.GetSampling()
	if s.GetInterval().AsDuration() <= 0 {
		return nil
	}
	for _, setting := range samplingSettings {
		if text := setting.name(s); text != "" {
			out = append(out, part{text, func(r *misstepv1.Recipe) {
				if r.Sampling != nil {
					setting.drop(r.Sampling)
				}
			}})
		}
	}
	if found, _ := FindCheck(check); !found.Signals {
		out = append(out, part{"interval " + s.GetInterval().AsDuration().String(), func(r *misstepv1.Recipe) { r.Sampling = nil }})
	}
	return out
}

func perturbationParts(r *misstepv1.Recipe, _ string) (out []part) {
	p := r.GetPerturbation()
	if !misstepv1.Disturbs(p.GetStrategy()) {
		return nil
	}
	out = one(p.GetSeed() != 0, "seed "+decimal(p.GetSeed()), func(r *misstepv1.Recipe) {
		if r.Perturbation != nil {
			r.Perturbation.Seed = 0
		}
	})
	for _, k := range slices.Sorted(maps.Keys(p.GetParameters())) {
		if !misstepv1.Confines(k) {
			out = append(out, part{fmt.Sprintf("%s %g", k, p.GetParameters()[k]), func(r *misstepv1.Recipe) {
				delete(r.GetPerturbation().GetParameters(), k)
			}})
		}
	}
	return append(out, part{p.GetStrategy(), func(r *misstepv1.Recipe) {
		r.Perturbation = nil
		DropUnused(r)
	}})
}

// patternParts returns the patterns that select methods.
func patternParts(r *misstepv1.Recipe, _ string) (out []part) {
	for _, list := range []struct {
		word  string
		field func(*misstepv1.Instrumentation) *[]string
	}{
		{"exclude ", func(i *misstepv1.Instrumentation) *[]string { return &i.Exclude }},
		{"include ", func(i *misstepv1.Instrumentation) *[]string { return &i.Include }},
	} {
		if r.GetInstrumentation() == nil {
			continue
		}
		for _, pattern := range *list.field(r.GetInstrumentation()) {
			out = append(out, part{list.word + pattern, func(r *misstepv1.Recipe) {
				if r.Instrumentation != nil {
					field := list.field(r.Instrumentation)
					*field = without(*field, pattern)
				}
			}})
		}
	}
	return out
}

func arguments(r *misstepv1.Recipe, _ string) (out []part) {
	args := r.GetWorkload().GetArguments()
	if len(args) < 2 {
		return nil
	}
	for i, a := range args {
		out = append(out, part{a, func(r *misstepv1.Recipe) { r.Workload.Arguments = withoutArgument(r.Workload.Arguments, a, i) }})
	}
	return out
}

func flags(r *misstepv1.Recipe, _ string) (out []part) {
	for _, f := range r.GetJvmFlags() {
		out = append(out, part{f, func(r *misstepv1.Recipe) { r.JvmFlags = without(r.JvmFlags, f) }})
	}
	return out
}

// prefixed returns the text with a word before it; an empty text stays empty.
func prefixed(word, text string) string {
	if text == "" {
		return ""
	}
	return word + text
}

// positive formats a number if it is above least, and returns "" otherwise.
func positive[N uint32 | float64](format string, n, least N) string {
	if n <= least {
		return ""
	}
	return fmt.Sprintf(format, n)
}
