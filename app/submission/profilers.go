package submission

import (
	"misstep/deploy/jdk"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
	"misstep/runner/profiler"
)

// lackProfilers lists the profilers of a campaign that a JDK cannot run.
func lackProfilers(entry jdk.Entry, alternatives []*misstepv1.Profiler) (lacking []*misstepv1.Unsuited, err error) {
	seen := map[string]bool{}
	for _, alternative := range alternatives {
		name := alternative.GetName()
		if !recipe.HasProfiler(alternative) || seen[name] {
			continue
		}
		seen[name] = true
		p, err := profiler.Of(&misstepv1.Recipe{Profiler: alternative})
		if err != nil {
			return nil, err
		}
		if why := p.Supports(profiler.JDK{Home: entry.Path, Feature: entry.Feature}); why != nil {
			lacking = append(lacking, &misstepv1.Unsuited{Jdk: entry.Name, Profiler: name, Reason: why.Error()})
		}
	}
	return lacking, nil
}
