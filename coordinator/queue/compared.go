package queue

import (
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
)

// maxCompared bounds the groups of a campaign's checks by JDK and profiler.
const maxCompared = 64

// addCompared adds the checks of an outcome to those of its JDK and profiler.
func addCompared(tally *misstepv1.CampaignStatus, o *misstepv1.Outcome, r *misstepv1.Recipe) {
	if len(o.GetChecks()) == 0 {
		return
	}
	on := comparedOn(tally, r)
	on.Checks = AddChecks(on.Checks, o.GetChecks())
	for _, m := range o.GetMismatches() {
		if m.GetKind() == "truncated" {
			on.Cut = addMap(on.Cut, map[string]uint64{m.GetCheck(): max(m.GetCount(), 1)})
		}
	}
}

// comparedOn returns the group of a recipe, which it makes if there is none; the last one takes all that fit no other.
func comparedOn(tally *misstepv1.CampaignStatus, r *misstepv1.Recipe) *misstepv1.ComparedOn {
	jdk, profiler := r.GetJdk().GetName(), recipe.ProfilerText(r.GetProfiler())
	for _, on := range tally.GetCompared() {
		if on.GetJdk() == jdk && on.GetProfiler() == profiler {
			return on
		}
	}
	switch n := len(tally.GetCompared()); {
	case n >= maxCompared:
		return tally.Compared[n-1]
	case n == maxCompared-1:
		jdk, profiler = "", ""
	}
	on := &misstepv1.ComparedOn{Jdk: jdk, Profiler: profiler}
	tally.Compared = append(tally.Compared, on)
	return on
}
