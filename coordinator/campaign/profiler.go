package campaign

import (
	"fmt"
	"strings"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
)

// profiled returns each pair under each alternative of a profiler, without those that its JDK lacks. A profiler that all JDKs of
// the campaign lack is an error. lacking holds the reasons by JDK and profiler.
//
// A combination keeps the checks that its profiler permits. One with a profiler that no check judges is run without checks: it can
// find crashes and hangs. Validation refuses campaigns that would have combinations with neither.
func (e *Expansion) profiled(pairs []pair, lacking map[[2]string]string) ([]pair, error) {
	alternatives := e.c.GetProfiler()
	if len(alternatives) == 0 {
		return pairs, nil
	}
	var out []pair
	runs := make([]bool, len(alternatives))
	reasons := map[string][]string{} // by profiler, one for each JDK
	seen := map[[2]string]bool{}
	for _, p := range pairs {
		for i, profiler := range alternatives {
			on := [2]string{p.jdk.GetName(), profiler.GetName()}
			reason, lacks := lacking[on]
			if !lacks {
				out, runs[i] = append(out, p.under(profiler)), true
			} else if !seen[on] {
				reasons[profiler.GetName()] = append(reasons[profiler.GetName()], on[0]+": "+reason)
				e.skip("profiler %s on %s: %s", profiler.GetName(), on[0], reason)
			}
			seen[on] = true
		}
	}
	for i, profiler := range alternatives {
		if !runs[i] {
			return nil, fmt.Errorf("profiler[%d].name: no JDK of the campaign can run %s: %s", i, profiler.GetName(),
				strings.Join(reasons[profiler.GetName()], "; "))
		}
	}
	return out, nil
}

// under returns the pair under a profiler; recipes spell "none" as no profiler.
func (p pair) under(profiler *misstepv1.Profiler) pair {
	if recipe.HasProfiler(profiler) {
		p.profiler = profiler
	}
	return p
}
