package recipe

import (
	"slices"

	misstepv1 "misstep/proto/misstep/v1"
)

// profilerParts returns a profiler's options, its interval, and the profiler itself if the check does not need one. Whatever judges
// its recording goes with it.
func profilerParts(r *misstepv1.Recipe, check string) (out []part) {
	p := r.GetProfiler()
	if !HasProfiler(p) {
		return nil
	}
	for _, option := range p.GetOptions() {
		out = append(out, part{option, func(r *misstepv1.Recipe) {
			if r.Profiler != nil {
				r.Profiler.Options = without(r.Profiler.Options, option)
			}
		}})
	}
	if ProfilerInterval(p) != DefaultProfilerInterval {
		out = append(out, part{"interval " + ProfilerInterval(p).String(), func(r *misstepv1.Recipe) {
			if r.Profiler != nil {
				r.Profiler.Interval = nil
			}
		}})
	}
	if found, _ := FindCheck(check); found.Judges(nil) {
		out = append(out, part{p.GetName(), func(r *misstepv1.Recipe) {
			r.Profiler = nil
			r.Checks = slices.DeleteFunc(r.Checks, func(c *misstepv1.Check) bool {
				known, _ := FindCheck(c.GetName())
				return !known.Judges(nil)
			})
			DropUnused(r)
		}})
	}
	return out
}
