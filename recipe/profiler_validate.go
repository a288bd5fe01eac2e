package recipe

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"misstep/internal/suggest"
	misstepv1 "misstep/proto/misstep/v1"
)

// Bounds of a profiler's options; they are passed on a command line.
const (
	maxProfilerOptions = 64
	maxProfilerOption  = 1024
)

// ValidateProfiler returns an error that lists everything that is wrong with a recipe's profiler, nil if nothing.
func ValidateProfiler(p *misstepv1.Profiler) error {
	var v Violations
	v.profiler("profiler", p)
	if len(v) == 0 {
		return nil
	}
	problems := make([]string, 0, len(v))
	for _, one := range v {
		problems = append(problems, one.String())
	}
	return errors.New(strings.Join(problems, "; "))
}

// profilers checks alternatives of a profiler.
func (v *Violations) profilers(list []*misstepv1.Profiler) {
	if !v.Count("profiler", len(list)) {
		return
	}
	for i, p := range list {
		v.profiler(fmt.Sprintf("profiler[%d]", i), p)
	}
}

// profiler checks one profiler by itself.
func (v *Violations) profiler(at string, p *misstepv1.Profiler) {
	known, ok := FindProfiler(p.GetName())
	if !HasProfiler(p) {
		if p.GetInterval() != nil || len(p.GetOptions()) > 0 {
			v.Addf(at+".name", "interval and options have an effect only with a profiler: expected %s",
				strings.Join(anyProfiler, " or "))
		}
		return
	}
	if !ok {
		v.Addf(at+".name", "unknown profiler %s%s", suggest.Quote(p.GetName()),
			suggest.Among(p.GetName(), append([]string{ProfilerNone}, anyProfiler...)))
		return
	}
	if d, ok := Duration(p.GetInterval()); !ok || d != 0 && (d < minProfilerInterval || d > maxProfilerInterval) {
		v.Addf(at+".interval", "expected 0 (the default, %v) or a duration from %v to %v, got %s", DefaultProfilerInterval,
			minProfilerInterval, maxProfilerInterval, DurationText(p.GetInterval()))
	}
	if !v.AtMost(at+".options", len(p.GetOptions()), maxProfilerOptions) {
		return
	}
	seen := map[string]bool{}
	for i, option := range p.GetOptions() {
		field := fmt.Sprintf("%s.options[%d]", at, i)
		key, _, _ := strings.Cut(option, "=")
		switch {
		case option == "" || len(option) > maxProfilerOption || strings.ContainsAny(option, ",\x00\n\r"):
			v.Addf(field, "expected one option of 1 to %d bytes on one line without a comma", maxProfilerOption)
		case known.problem(option) != "":
			v.Addf(field, "%s", known.problem(option))
		case seen[key]:
			v.Addf(field, "%s is given twice", key)
		}
		seen[key] = true
	}
}

// beside checks the signals of the agent's sampler against those of the profilers that run beside it.
func (v *Violations) beside(s Settings) {
	if s.unbounded() {
		return // already reported
	}
	for i, one := range s.Sampling {
		for _, p := range s.Profilers {
			if known, _ := FindProfiler(p.GetName()); slices.Contains(known.Signals, one.GetSignal()) {
				v.Addf(fmt.Sprintf("sampling[%d].signal", i),
					"%s takes %s for itself: choose another signal, or leave it out for %s beside a profiler", known.Name,
					one.GetSignal(), AgentSignalBesideProfiler)
				break
			}
		}
	}
}
