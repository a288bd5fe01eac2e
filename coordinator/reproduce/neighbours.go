package reproduce

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
	"misstep/signature"
)

// neighbour is a recipe one change away.
type neighbour struct {
	name   string
	recipe *misstepv1.Recipe
}

// flagsWorthTrying change when and how code is compiled, inlined and collected: what decides the shapes of frames.
var flagsWorthTrying = [][]string{
	{"-Xcomp"},
	{"-XX:TieredStopAtLevel=1"},
	{"-XX:TieredStopAtLevel=1", "-Xcomp"},
	{"-XX:-TieredCompilation"},
	{"-XX:-Inline"},
	{"-XX:+UseSerialGC", "-Xmn4m"},
	{"-XX:+UseParallelGC", "-Xmx64m"},
}

// neighbours returns the runnable neighbours of a recipe, without those that are equal to it.
func (m *machine) neighbours(base *arm) (out []neighbour) {
	r := base.recipe
	add := func(name string, change func(*misstepv1.Recipe)) {
		n := proto.CloneOf(r)
		change(n)
		recipe.DropUnused(n)
		if proto.Equal(n, r) || !recipe.Runnable(n) || slices.ContainsFunc(out,
			func(o neighbour) bool { return proto.Equal(o.recipe, n) }) {
			return
		}
		out = append(out, neighbour{name, n})
	}
	spec := m.r.GetSpec()
	check := signature.CheckOf(spec.GetSignature())
	for i, c := range r.GetChecks() {
		if known, _ := recipe.FindCheck(c.GetName()); known.Slot != recipe.NoSlot && (c.GetName() == check || check == "") {
			add("share of "+c.GetName()+" 1", func(n *misstepv1.Recipe) { n.Checks[i].Share = 1 })
		}
	}
	if d := r.GetSampling().GetInterval().AsDuration(); d > 0 {
		for _, f := range []float64{0.25, 4} {
			interval := min(max(time.Duration(float64(d)*f), 100*time.Microsecond), 100*time.Millisecond)
			add(fmt.Sprintf("sampling interval %v", interval), func(n *misstepv1.Recipe) {
				n.Sampling.Interval = durationpb.New(interval)
			})
		}
	}
	if s := r.GetSampling(); s.GetInterval().AsDuration() > 0 {
		add("sampling jitter 1", func(n *misstepv1.Recipe) { n.Sampling.Jitter = 1 })
		if recipe.TakesBursts(r.GetChecks()) {
			add("sampling burst 8", func(n *misstepv1.Recipe) { n.Sampling.Burst = 8 })
		}
	}
	if recipe.HasProfiler(r.GetProfiler()) {
		for _, f := range []float64{0.25, 4} {
			interval := recipe.BoundedProfilerInterval(time.Duration(float64(recipe.ProfilerInterval(r.GetProfiler())) * f))
			add(fmt.Sprintf("profiler interval %v", interval), func(n *misstepv1.Recipe) {
				n.Profiler.Interval = durationpb.New(interval)
			})
		}
	}
	for _, flags := range flagsWorthTrying {
		add("flags "+strings.Join(flags, " "), func(n *misstepv1.Recipe) {
			for _, f := range flags {
				if !slices.Contains(n.JvmFlags, f) {
					n.JvmFlags = append(n.JvmFlags, f)
				}
			}
		})
	}
	if len(r.GetInstrumentation().GetOnly()) == 0 && recipe.NeedsMethods(r.GetChecks(), r.GetPerturbation()) {
		for _, ratio := range []float64{1, 0.25} {
			add(fmt.Sprintf("ratio %g", ratio), func(n *misstepv1.Recipe) {
				if n.Instrumentation == nil {
					n.Instrumentation = &misstepv1.Instrumentation{Ratio: 1}
				}
				n.Instrumentation.Ratio = ratio
			})
		}
		if methods := spec.GetMethods(); len(methods) > 0 {
			add("only the evidence's methods", func(n *misstepv1.Recipe) {
				n.Instrumentation = &misstepv1.Instrumentation{Only: methods}
			})
			add("only "+methods[0], func(n *misstepv1.Recipe) {
				n.Instrumentation = &misstepv1.Instrumentation{Only: methods[:1]}
			})
		}
	}
	const mostRepetitions = 1 << 12
	if n := r.GetWorkload().GetRepetitions(); n > 0 && n <= mostRepetitions {
		add(fmt.Sprintf("repetitions %d", 4*n), func(n *misstepv1.Recipe) { n.Workload.Repetitions *= 4 })
	} else if n == 0 {
		add("repetitions 10", func(n *misstepv1.Recipe) { n.Workload.Repetitions = 10 })
	}
	for _, p := range spec.GetPerturbations() {
		add("perturbation "+p.GetStrategy(), func(n *misstepv1.Recipe) { n.Perturbation = proto.CloneOf(p) })
	}
	for _, k := range slices.Sorted(maps.Keys(r.GetPerturbation().GetParameters())) {
		if misstepv1.Confines(k) {
			continue
		}
		for _, f := range []float64{0.5, 2} {
			old := r.GetPerturbation().GetParameters()[k]
			value := old * f
			if old < 1 { // a probability
				value = min(value, 1)
			}
			add(fmt.Sprintf("%s %g", k, value), func(n *misstepv1.Recipe) { n.Perturbation.Parameters[k] = value })
		}
	}
	// A seed that hit once may hit every time, where it decides more than timing that no run repeats.
	if r.GetSeed() == 0 && misstepv1.Disturbs(r.GetPerturbation().GetStrategy()) {
		const maxSeeds = 3
		probe := Probe{Key: base.key, recipe: r, seed: spec.GetSeed()}
		seeds := 0
		for try, letter := range []byte(m.arms[base.key].GetResults()) {
			if Result(letter) == Hit && seeds < maxSeeds {
				seeds++
				seed := probe.Recipe(try).GetSeed()
				add(fmt.Sprintf("seed %d", seed), func(n *misstepv1.Recipe) { n.Seed = seed })
			}
		}
	}
	return out
}
