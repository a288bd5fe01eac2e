package main

import (
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"misstep/agent"
	"misstep/bench/trial"
	"misstep/deploy/jdk"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
	"misstep/runner/profiler"
	"misstep/workloads"
)

// combination is a workload on a JDK under a profiler.
type combination struct {
	on       jdk.Entry
	workload workloads.Entry
	profiler *misstepv1.Profiler
}

func (c combination) name() string {
	return fmt.Sprintf("%s on %s under %s", c.workload.Name, c.on.Name, profilerName(c.profiler))
}

// profilerName is a profiler's name, with its walker if it has several.
func profilerName(p *misstepv1.Profiler) string {
	if p.GetName() != recipe.ProfilerAsync {
		return p.GetName()
	}
	return p.GetName() + " " + profiler.Walker(&misstepv1.Recipe{Profiler: p})
}

// matrixFeatures are the versions that the figures are about. Another build of one of them is left to the other benchmarks.
var matrixFeatures = []int{8, 11, 17, 21, 25, 26, 27, 28}

// profilers are JFR with all of its samplers, and async-profiler with each of its walkers, all at 1 ms.
func profilers() (all []*misstepv1.Profiler) {
	const interval = time.Millisecond
	all = append(all, &misstepv1.Profiler{Name: recipe.ProfilerJFR, Interval: durationpb.New(interval)})
	for _, walker := range []string{"vm", "vmx", "fp", "dwarf", "no"} {
		all = append(all, &misstepv1.Profiler{
			Name: recipe.ProfilerAsync, Interval: durationpb.New(interval), Options: []string{"cstack=" + walker},
		})
	}
	return all
}

// matrixOf returns all combinations that can run, in an order of which each beginning has the JDKs alike: one of each JDK, then the
// next of each. JFR, which has a JDK's own walkers, comes every second time.
func matrixOf(bed *trial.Bed) ([]combination, error) {
	var byJDK [][]combination
	for _, feature := range matrixFeatures {
		on, ok := bed.JDK(feature)
		if !ok {
			continue
		}
		fit, err := bed.Workloads(on)
		if err != nil {
			return nil, err
		}
		byJDK = append(byJDK, ordered(on, fit, supported(on), len(byJDK)))
	}
	return roundRobin(byJDK), nil
}

// supported returns the profilers that a JDK has.
func supported(on jdk.Entry) []*misstepv1.Profiler {
	return slices.DeleteFunc(profilers(), func(p *misstepv1.Profiler) bool {
		known, err := profiler.Of(&misstepv1.Recipe{Profiler: p})
		return err != nil || known.Supports(profiler.JDK{Home: on.Path, Feature: on.Feature}) != nil
	})
}

// ordered returns the combinations of one JDK. first lets each JDK begin with another workload and profiler.
func ordered(on jdk.Entry, fit []workloads.Entry, with []*misstepv1.Profiler, first int) (all []combination) {
	var lists [2][]combination // of the first profiler, of the others
	for i := range fit {
		w := fit[(first+i)%len(fit)]
		for k := range with {
			// Neighbours differ in the profiler as well as in the workload.
			p := with[k]
			if k > 0 {
				p = with[1+(first+i+k)%(len(with)-1)]
			}
			list := &lists[min(k, 1)]
			*list = append(*list, combination{on, w, p})
		}
	}
	others := make([]combination, 0, len(lists[1]))
	for k := range max(len(with)-1, 0) { // each workload once, then again under another profiler
		for i := range fit {
			others = append(others, lists[1][i*(len(with)-1)+k])
		}
	}
	return roundRobin([][]combination{lists[0], others})
}

// roundRobin takes one of each list in turn, as long as there are any.
func roundRobin[T any](lists [][]T) (all []T) {
	for n := 0; ; n++ {
		before := len(all)
		for _, list := range lists {
			if n < len(list) {
				all = append(all, list[n])
			}
		}
		if len(all) == before {
			return all
		}
	}
}

// hungAfter is far more than any workload takes for one repetition.
const hungAfter = 2 * time.Minute

// recipeOf returns the recipe of a trial with all checks that judge the profiler's recordings.
func recipeOf(c combination, seed uint64, artefacts agent.Artefacts) *misstepv1.Recipe {
	r := &misstepv1.Recipe{
		Jdk:             &misstepv1.Jdk{Name: c.on.Name, Digest: c.on.Digest.String(), Version: c.on.Version},
		Workload:        &misstepv1.Workload{Name: c.workload.Name, Digest: c.workload.Digest.String(), Repetitions: 1},
		Profiler:        c.profiler,
		Instrumentation: &misstepv1.Instrumentation{Ratio: 1},
		Limits:          &misstepv1.Limits{Wall: durationpb.New(hungAfter), Mismatches: 1024, StackDepth: 1024},
		Seed:            seed, AgentDigest: artefacts.Digest,
	}
	for _, name := range checksOf(c.profiler) {
		r.Checks = append(r.Checks, &misstepv1.Check{Name: name})
	}
	return r
}

// checksOf are the checks that are made from a profiler's recordings.
func checksOf(p *misstepv1.Profiler) (names []string) {
	for _, c := range recipe.Checks() {
		if c.Slot == recipe.NoSlot && c.Judges(p) {
			names = append(names, c.Name)
		}
	}
	return names
}
