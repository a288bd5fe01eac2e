package queue

import (
	"maps"
	"slices"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
	"misstep/triage"
)

// maxCompared bounds the groups of a campaign's checks by JDK and profiler.
const maxCompared = 64

// addCompared adds the checks of an outcome to those of its JDK and profiler. It changes a copy of that group only: tallies share
// the others.
func addCompared(tally *misstepv1.CampaignStatus, o *misstepv1.Outcome, r *misstepv1.Recipe) {
	if len(o.GetChecks()) == 0 {
		return
	}
	on := comparedOn(tally, r)
	on.Checks = AddChecks(on.Checks, o.GetChecks())
	on.Cut = addMap(on.Cut, triage.CutOff(o))
}

// comparedOn returns a copy of a recipe's group that has taken its place, or a new one; the last one takes all that fit no other.
func comparedOn(tally *misstepv1.CampaignStatus, r *misstepv1.Recipe) *misstepv1.ComparedOn {
	jdk, profiler := r.GetJdk().GetName(), recipe.ProfilerText(r.GetProfiler())
	n := len(tally.GetCompared())
	i := slices.IndexFunc(tally.GetCompared(), func(on *misstepv1.ComparedOn) bool {
		return on.GetJdk() == jdk && on.GetProfiler() == profiler
	})
	if i < 0 && n >= maxCompared {
		i = n - 1
	}
	if i >= 0 {
		on := tally.GetCompared()[i]
		tally.Compared[i] = &misstepv1.ComparedOn{
			Jdk: on.GetJdk(), Profiler: on.GetProfiler(), Checks: cloneChecks(on.GetChecks()), Cut: maps.Clone(on.GetCut()),
		}
		return tally.Compared[i]
	}
	if n == maxCompared-1 {
		jdk, profiler = "", ""
	}
	on := &misstepv1.ComparedOn{Jdk: jdk, Profiler: profiler}
	tally.Compared = append(tally.Compared, on)
	return on
}
