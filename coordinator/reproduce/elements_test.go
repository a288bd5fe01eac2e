package reproduce

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
)

// An argument that was reduced to 1 is removed together with the reduction, and the right one of equal arguments is removed.
func TestArgumentsAreLeftOut(t *testing.T) {
	r := &misstepv1.Recipe{Workload: &misstepv1.Workload{Repetitions: 1, Arguments: []string{"1", "x", "6", "20"}}}
	list := Elements(r, nil, &misstepv1.Signature{})
	without := func(names ...string) []string {
		return list.Without(r, func(i int) bool { return slices.Contains(names, list[i].Name) }).GetWorkload().GetArguments()
	}
	assert.Equal(t, []string{"1", "x", "1", "20"}, without("6 to 1"))
	assert.Equal(t, []string{"1", "x", "20"}, without("6 to 1", "6"))
	assert.Equal(t, []string{"1", "1"}, without("x", "6 to 1", "20"))
	assert.Equal(t, []string{"1", "x", "1"}, without("6 to 1", "20 to 1", "20"))
	assert.Empty(t, without("1", "x", "6 to 1", "6", "20 to 1", "20"))
}

// Settings of sampling and checks are elements of their own. What confines a perturbation is none: without it there would be more
// of it.
func TestSettingsAreElements(t *testing.T) {
	r := &misstepv1.Recipe{
		Sampling: &misstepv1.Sampling{Interval: durationpb.New(time.Millisecond), Burst: 4, Threads: "cpu", Guesses: 7},
		Checks: []*misstepv1.Check{
			{Name: "asgct-shadow", Reference: "trace:0.1"}, {Name: "liveness", Interval: durationpb.New(time.Second)},
		},
		Perturbation: &misstepv1.Perturbation{
			Strategy: "delay", Parameters: map[string]float64{"probability": 0.7, "from": 3, "until": 9, "spare_gc": 1},
		},
	}
	list := Elements(r, nil, &misstepv1.Signature{Kind: "mismatch", Parts: []string{"asgct-shadow"}})
	var names []string
	for _, e := range list {
		names = append(names, e.ID())
	}
	assert.Subset(t, names, []string{
		"sampling burst 4", "sampling guesses 7", "sampling threads cpu", "check asgct-shadow by trace:0.1",
		"check liveness each 1s", "perturbation probability 0.7",
	})
	for _, parameter := range []string{"from", "until", "spare_gc"} {
		assert.NotContains(t, strings.Join(names, "\n"), "perturbation "+parameter)
	}
	smaller := list.Without(r, func(int) bool { return true })
	assert.Nil(t, smaller.GetPerturbation())
	assert.Empty(t, smaller.GetSampling().GetThreads())
	assert.Zero(t, smaller.GetSampling().GetBurst())
	assert.Zero(t, smaller.GetSampling().GetGuesses())
	assert.Empty(t, smaller.GetChecks()[0].GetReference())
}

// What only a removed check has used is removed with it: otherwise the recipe would have settings without effect.
func TestAnElementGoesWithWhatItUses(t *testing.T) {
	r := &misstepv1.Recipe{
		Instrumentation: &misstepv1.Instrumentation{Ratio: 0.5, Include: []string{"a.*"}, Exclude: []string{"a.b.*"}},
		Sampling:        &misstepv1.Sampling{Interval: durationpb.New(time.Millisecond), Burst: 4, Signal: "SIGIO"},
		Checks: []*misstepv1.Check{
			{Name: "gst-asgct"}, {Name: "asgct-shadow"}, {Name: "asgct-gst-bracket"}, {Name: "liveness"},
		},
	}
	for check, want := range map[string]*misstepv1.Recipe{
		"gst-asgct": {Instrumentation: r.GetInstrumentation()},
		"asgct-gst-bracket": {Sampling: &misstepv1.Sampling{
			Interval: durationpb.New(time.Millisecond), Signal: "SIGIO",
		}},
		"liveness": {},
	} {
		list := Elements(r, []string{"a/B.c()V"}, &misstepv1.Signature{Kind: "mismatch", Parts: []string{check}})
		smaller := list.Without(r, func(i int) bool { return list[i].Kind == "check" })
		want.Checks = []*misstepv1.Check{{Name: check}}
		assert.True(t, proto.Equal(want, smaller), "%s: %v", check, smaller)
		assert.Empty(t, recipe.Validate(smaller), check)
	}
}

// A recipe that a reproduction narrowed to all methods of a trial can be run by itself.
func TestAListOfAllMethodsCanBeRun(t *testing.T) {
	r := &misstepv1.Recipe{
		Instrumentation: &misstepv1.Instrumentation{Only: slices.Repeat([]string{"a/B.c()V"}, 5000)},
		Checks:          []*misstepv1.Check{{Name: "gst-asgct"}},
	}
	assert.Empty(t, recipe.Validate(r))
	r.Instrumentation.Only = slices.Repeat([]string{"a/B.c()V"}, 10000)
	assert.NotEmpty(t, recipe.Validate(r))
}

// Another perturbation than the agent's needs no methods: the neighbour says nothing of them.
func TestNeighboursAreTidy(t *testing.T) {
	r := &misstepv1.Recipe{
		Workload: &misstepv1.Workload{}, Instrumentation: &misstepv1.Instrumentation{Ratio: 0.5},
		Checks:       []*misstepv1.Check{{Name: "liveness"}},
		Perturbation: &misstepv1.Perturbation{Strategy: "delay", Mechanism: "agent"},
	}
	assert.Empty(t, recipe.Validate(r))
	m := &machine{
		r: &misstepv1.Reproduction{
			Spec: &misstepv1.ReproductionSpec{
				Perturbations: []*misstepv1.Perturbation{{Strategy: "chaos"}, {Strategy: "none", Mechanism: "agent"}},
			},
		},
		arms: map[string]*misstepv1.ReproductionArm{},
	}
	seen := 0
	for _, n := range m.neighbours(&arm{recipe: r}) {
		assert.Empty(t, recipe.Validate(n.recipe), n.name)
		if strings.HasPrefix(n.name, "perturbation ") {
			seen++
			assert.Nil(t, n.recipe.GetInstrumentation(), n.name)
		}
	}
	assert.Equal(t, 2, seen)
}

// Neighbours are recipes that can be run: a probability is 1 at most, and the agent's perturbation has methods to perturb at.
func TestNeighboursCanBeRun(t *testing.T) {
	r := &misstepv1.Recipe{
		Workload: &misstepv1.Workload{}, Instrumentation: &misstepv1.Instrumentation{Ratio: 1},
		Checks: []*misstepv1.Check{{Name: "liveness"}},
		Perturbation: &misstepv1.Perturbation{
			Strategy: "delay", Mechanism: "agent", Parameters: map[string]float64{"probability": 0.7, "max_us": 50, "until": 8},
		},
	}
	m := &machine{r: &misstepv1.Reproduction{Spec: &misstepv1.ReproductionSpec{}}, arms: map[string]*misstepv1.ReproductionArm{}}
	var names []string
	for _, n := range m.neighbours(&arm{recipe: r}) {
		names = append(names, n.name)
	}
	assert.Subset(t, names, []string{"probability 1", "probability 0.35", "max_us 100", "max_us 25"})
	assert.NotContains(t, names, "until 16")
	r.Instrumentation.Ratio = 0
	assert.False(t, recipe.Runnable(r), "it has no methods")
}

// A profiler may sample more or less often; a check of its recording has no share.
func TestNeighboursOfAProfiler(t *testing.T) {
	r := &misstepv1.Recipe{
		Workload: &misstepv1.Workload{}, Profiler: &misstepv1.Profiler{Name: "jfr", Interval: durationpb.New(200 * time.Microsecond)},
		Checks: []*misstepv1.Check{{Name: recipe.JfrChunks}},
	}
	m := &machine{r: &misstepv1.Reproduction{Spec: &misstepv1.ReproductionSpec{}}, arms: map[string]*misstepv1.ReproductionArm{}}
	var names []string
	for _, n := range m.neighbours(&arm{recipe: r}) {
		assert.Empty(t, recipe.Validate(n.recipe), n.name)
		names = append(names, n.name)
	}
	assert.Subset(t, names, []string{"profiler interval 100µs", "profiler interval 800µs"})
	assert.NotContains(t, strings.Join(names, "\n"), "share")
}

// A recipe whose trials either hit or have nothing to compare does not always hit. On another build the same trials prove nothing.
func TestIdleTriesAreMisses(t *testing.T) {
	for step, want := range map[string]arm{
		StepConfirm: {hits: 2, results: make([]bool, 6)},
		StepVerify:  {hits: 2, results: make([]bool, 6)},
		StepBisect:  {hits: 2, results: make([]bool, 2), voids: 4},
	} {
		m := &machine{r: &misstepv1.Reproduction{}, arms: map[string]*misstepv1.ReproductionArm{}, counted: map[string]bool{}}
		m.begin(step)
		r := &misstepv1.Recipe{}
		m.arms[m.arm("x", r).key] = &misstepv1.ReproductionArm{Results: "hiiihi"}
		got := m.arm("x", r)
		assert.Equal(t, want.hits, got.hits, step)
		assert.Len(t, got.results, len(want.results), step)
		assert.Equal(t, want.voids, got.voids, step)
	}
}
