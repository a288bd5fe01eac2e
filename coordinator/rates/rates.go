// Package rates defines which trials are counted together for the rate of a finding: a store counts trials by combination, and
// whatever shows or compares rates reads those counts.
package rates

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
)

// Combination is everything by which rates are distinguished: trials of equal combinations are counted together.
type Combination struct {
	Campaign, JDK, Workload, FlagSet string
	// Checks of the recipe, sorted and joined by commas: a trial can only miss what it looked for.
	Checks string
	// Perturbation is the strategy's name, "none" without one.
	Perturbation string
	// Ratio of instrumented methods as a decimal number, "listed" when they were listed one by one.
	Ratio string
	// Interval between two signals in Go's format of durations, "none" without signals; followed by the number of guesses (stack
	// scanning), if there are any.
	Interval string
	// Profiler with its interval and options as recipe.ProfilerText gives it, "none" without one.
	Profiler string
}

// CombinationOf returns the combination under which a trial of the recipe is counted.
func CombinationOf(campaign string, r *misstepv1.Recipe) Combination {
	names := make([]string, 0, len(r.GetChecks()))
	for _, c := range r.GetChecks() {
		names = append(names, c.GetName())
	}
	slices.Sort(names)
	c := Combination{
		Campaign: campaign, JDK: r.GetJdk().GetName(), Workload: r.GetWorkload().GetName(), FlagSet: r.GetFlagSet(),
		Checks:       strings.Join(names, ","),
		Perturbation: cmp.Or(r.GetPerturbation().GetStrategy(), "none"),
		Ratio:        strconv.FormatFloat(r.GetInstrumentation().GetRatio(), 'g', -1, 64),
		Interval:     "none",
		Profiler:     recipe.ProfilerText(r.GetProfiler()),
	}
	if len(r.GetInstrumentation().GetOnly()) > 0 {
		c.Ratio = "listed"
	}
	if d := r.GetSampling().GetInterval().AsDuration(); d > 0 {
		c.Interval = d.String()
	}
	if n := r.GetSampling().GetGuesses(); n > 0 {
		c.Interval += ", " + strconv.FormatUint(uint64(n), 10) + " guesses"
	}
	return c
}

// Compare orders combinations by their fields, in the order of the fields.
func Compare(a, b Combination) int {
	return cmp.Or(
		cmp.Compare(a.Campaign, b.Campaign), cmp.Compare(a.JDK, b.JDK), cmp.Compare(a.Workload, b.Workload),
		cmp.Compare(a.FlagSet, b.FlagSet), cmp.Compare(a.Checks, b.Checks), cmp.Compare(a.Perturbation, b.Perturbation),
		cmp.Compare(a.Ratio, b.Ratio), cmp.Compare(a.Interval, b.Interval),
		cmp.Compare(a.Profiler, b.Profiler))
}

// Count is a number of trials or hits.
type Count struct {
	Combination
	N uint64
}

// Shown is a number of trials that showed the same findings.
type Shown struct {
	Count
	// Findings are their ids, in ascending order; at least one.
	Findings []string
}
