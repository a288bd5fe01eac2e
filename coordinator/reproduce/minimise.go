package reproduce

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"google.golang.org/protobuf/proto"

	"misstep/coordinator/campaign"
	misstepv1 "misstep/proto/misstep/v1"
)

// element is a part of a recipe that can be left out.
type element struct {
	kind, name string
	drop       func(*misstepv1.Recipe)
}

func (e element) proto() *misstepv1.RecipeElement {
	return &misstepv1.RecipeElement{Kind: e.kind, Name: e.name}
}

// elements of a recipe, those that are seldom needed first, so that halving tends to cut between them and the others. The
// instrumented methods are not among them.
func elements(r *misstepv1.Recipe, sig *misstepv1.Signature) (out []element) {
	add := func(kind, name string, drop func(*misstepv1.Recipe)) { out = append(out, element{kind, name, drop}) }
	if w := r.GetWorkload(); w != nil && w.GetRepetitions() != 1 {
		name := "the workload's own"
		if n := w.GetRepetitions(); n > 0 {
			name = strconv.FormatUint(uint64(n), 10)
		}
		add("repetitions", name, func(r *misstepv1.Recipe) { r.Workload.Repetitions = 1 })
	}
	for i, text := range r.GetWorkload().GetArguments() {
		if n, err := strconv.ParseUint(text, 10, 63); err == nil && n > 1 {
			add("argument", text+" to 1", func(r *misstepv1.Recipe) {
				if i < len(r.Workload.Arguments) && r.Workload.Arguments[i] == text {
					r.Workload.Arguments[i] = "1"
				}
			})
		}
	}
	l := r.GetLimits()
	for _, x := range []struct {
		name            string
		value, standard uint32
		drop            func(*misstepv1.Recipe)
	}{
		{"memory_mib", l.GetMemoryMib(), campaign.DefaultMemoryMiB, func(r *misstepv1.Recipe) { r.Limits.MemoryMib = 0 }},
		{"output_mib", l.GetOutputMib(), campaign.DefaultOutputMiB, func(r *misstepv1.Recipe) { r.Limits.OutputMib = 0 }},
		{"disk_mib", l.GetDiskMib(), campaign.DefaultDiskMiB, func(r *misstepv1.Recipe) { r.Limits.DiskMib = 0 }},
		{"stack_depth", l.GetStackDepth(), campaign.DefaultStackDepth, func(r *misstepv1.Recipe) { r.Limits.StackDepth = 0 }},
	} {
		if x.value != 0 && x.value != x.standard {
			add("limit", x.name+" "+strconv.FormatUint(uint64(x.value), 10), x.drop)
		}
	}
	check := checkOf(sig)
	for _, c := range r.GetChecks() {
		name := c.GetName()
		if name != check && (check != "" || len(r.GetChecks()) > 1) {
			add("check", name, func(r *misstepv1.Recipe) {
				r.Checks = slices.DeleteFunc(r.Checks, func(c *misstepv1.Check) bool { return c.GetName() == name })
			})
		}
	}
	if s := r.GetSampling(); s.GetInterval().AsDuration() > 0 {
		if s.GetJitter() > 0 {
			add("sampling", fmt.Sprintf("jitter %g", s.GetJitter()), func(r *misstepv1.Recipe) {
				if r.Sampling != nil {
					r.Sampling.Jitter = 0
				}
			})
		}
		if s.GetSignal() != "" {
			add("sampling", "signal "+s.GetSignal(), func(r *misstepv1.Recipe) {
				if r.Sampling != nil {
					r.Sampling.Signal = ""
				}
			})
		}
		if check != "asgct-shadow" {
			add("sampling", "interval "+s.GetInterval().AsDuration().String(), func(r *misstepv1.Recipe) { r.Sampling = nil })
		}
	}
	if p := r.GetPerturbation(); p.GetStrategy() != "" && p.GetStrategy() != "none" {
		if p.GetSeed() != 0 {
			add("perturbation", "seed "+strconv.FormatUint(p.GetSeed(), 10), func(r *misstepv1.Recipe) {
				if r.Perturbation != nil {
					r.Perturbation.Seed = 0
				}
			})
		}
		for _, k := range slices.Sorted(maps.Keys(p.GetParameters())) {
			add("perturbation", fmt.Sprintf("%s %g", k, p.GetParameters()[k]), func(r *misstepv1.Recipe) {
				delete(r.GetPerturbation().GetParameters(), k)
			})
		}
		add("perturbation", p.GetStrategy(), func(r *misstepv1.Recipe) { r.Perturbation = nil })
	}
	if e := r.GetExecutor(); e != "" && e != "host" {
		add("executor", e, func(r *misstepv1.Recipe) { r.Executor = "" })
	}
	if r.GetSeed() != 0 {
		add("seed", strconv.FormatUint(r.GetSeed(), 10), func(r *misstepv1.Recipe) { r.Seed = 0 })
	}
	for _, pattern := range r.GetInstrumentation().GetExclude() {
		add("instrumentation", "exclude "+pattern, func(r *misstepv1.Recipe) { r.Instrumentation.Exclude = without(r.Instrumentation.Exclude, pattern) })
	}
	for _, pattern := range r.GetInstrumentation().GetInclude() {
		add("instrumentation", "include "+pattern, func(r *misstepv1.Recipe) { r.Instrumentation.Include = without(r.Instrumentation.Include, pattern) })
	}
	if args := r.GetWorkload().GetArguments(); len(args) > 1 {
		for _, a := range args {
			add("argument", a, func(r *misstepv1.Recipe) { r.Workload.Arguments = without(r.Workload.Arguments, a) })
		}
	}
	for _, f := range r.GetJvmFlags() {
		add("flag", f, func(r *misstepv1.Recipe) { r.JvmFlags = without(r.JvmFlags, f) })
	}
	return out
}

// methods that are instrumented by name.
func methods(r *misstepv1.Recipe) (out []element) {
	if only := r.GetInstrumentation().GetOnly(); len(only) > 1 {
		for _, name := range only {
			out = append(out, element{"method", name, func(r *misstepv1.Recipe) {
				r.Instrumentation.Only = without(r.Instrumentation.Only, name)
			}})
		}
	}
	return out
}

// without the first x.
func without(list []string, x string) []string {
	if i := slices.Index(list, x); i >= 0 {
		return slices.Delete(slices.Clone(list), i, i+1)
	}
	return list
}

// outcome of minimising.
type outcome struct {
	measured      *arm // the final recipe with fresh tries
	removed, kept []*misstepv1.RecipeElement
}

// reducer makes one recipe smaller.
type reducer struct {
	*machine
	// hits of tries of the recipe to begin with: the rate to keep. It stays, so that many small losses do not pass one by one.
	hits, tries int
	recipe      *misstepv1.Recipe
	removed     []element
	// undo holds the recipes before each accepted reduction, with how many elements were removed by then.
	undo []undoStep
	// banned elements were removed by themselves, and the rate was found lost later.
	banned map[string]bool
	// done counts the elements that are settled, of all.
	done, all int
}

type undoStep struct {
	recipe  *misstepv1.Recipe
	removed int
}

// rate to keep.
func (r *reducer) rate() float64 { return (float64(r.hits) + 0.5) / float64(r.tries+1) }

// answers of a test of the reducer.
type answer int

const (
	wait answer = iota
	yes
	no
)

// changed tests whether the rate is kept by a change; it does not take it.
func (r *reducer) changed(to *misstepv1.Recipe, purpose string, t test) answer {
	if proto.Equal(to, r.recipe) || !valid(to) {
		return no
	}
	a := r.arm(purpose, to)
	switch v, ok := r.judge(a, t); {
	case v == high:
		return yes
	case v == low || !ok:
		return no
	}
	return wait
}

func (r *reducer) drop(elements []element) *misstepv1.Recipe {
	to := proto.CloneOf(r.recipe)
	for _, e := range elements {
		e.drop(to)
	}
	return to
}

func (r *reducer) take(to *misstepv1.Recipe, elements ...element) {
	r.undo = append(r.undo, undoStep{r.recipe, len(r.removed)})
	r.recipe = to
	r.removed = append(r.removed, elements...)
}

// reduce removes what it can of the elements: all at once, else each half likewise. needed says that not all can go. It is false
// while it waits.
func (r *reducer) reduce(elements []element, needed bool) bool {
	if len(elements) == 0 {
		return true
	}
	if !needed {
		r.plan.Doing = fmt.Sprintf("leaves out %d elements at once", len(elements))
		if len(elements) == 1 {
			r.plan.Doing = "leaves out " + elements[0].kind + " " + elements[0].name
		}
		switch r.changed(r.drop(elements), "drop", keeps(r.rate())) {
		case wait:
			return false
		case yes:
			r.take(r.drop(elements), elements...)
			r.done += len(elements)
			return true
		case no:
		}
	}
	if len(elements) == 1 {
		r.done++
		return true
	}
	half := len(elements) / 2
	before := len(r.removed)
	if !r.reduce(elements[:half], false) {
		return false
	}
	// When all of the first half could go, the second half is why all together could not.
	return r.reduce(elements[half:], len(r.removed)-before == half)
}

// narrow is the element whose removal leaves only the methods given to be instrumented; nil when the recipe names methods already,
// instruments none, or needs none.
func narrow(r *misstepv1.Recipe, only []string) []element {
	// Checks need methods, and so do the agent's perturbations.
	needs := r.GetPerturbation().GetMechanism() == "agent" ||
		slices.ContainsFunc(r.GetChecks(), func(c *misstepv1.Check) bool { return c.GetName() != "liveness" })
	i := r.GetInstrumentation()
	ratio := 1.0
	if i != nil {
		ratio = i.GetRatio()
	}
	if len(i.GetOnly()) > 0 || len(only) == 0 || ratio == 0 || !needs {
		return nil
	}
	return []element{{"instrumentation", fmt.Sprintf("ratio %g", ratio), func(r *misstepv1.Recipe) {
		r.Instrumentation = &misstepv1.Instrumentation{Only: slices.Clone(only)}
	}}}
}

// listed narrows an instrumentation by ratio to all methods that the finding's trial instrumented, where those of the evidence were not
// enough; fewer can halve them then. The list may have no room for all that were, so it is tested as any reduction.
func (r *reducer) listed() bool {
	spec := r.r.GetSpec()
	if len(spec.GetInstrumented()) == 0 {
		return true
	}
	return r.reduce(narrow(r.recipe, slices.Concat(spec.GetMethods(), spec.GetInstrumented())), false)
}

// fewer narrows the instrumentation to single methods: to the likeliest one at once, else to those of the evidence, which are then
// halved.
func (r *reducer) fewer() bool {
	candidates := r.r.GetSpec().GetMethods()
	if i := r.recipe.GetInstrumentation().GetOnly(); len(i) > 1 && len(candidates) > 0 && slices.Contains(i, candidates[0]) {
		r.plan.Doing = "instruments only " + candidates[0]
		to := r.drop([]element{{drop: func(r *misstepv1.Recipe) { r.Instrumentation.Only = candidates[:1] }}})
		switch r.changed(to, "drop", keeps(r.rate())) {
		case wait:
			return false
		case yes:
			for _, name := range without(i, candidates[0]) {
				r.removed = append(r.removed, element{kind: "method", name: name})
			}
			r.take(to)
			return true
		case no:
		}
	}
	return r.reduce(methods(r.recipe), false)
}

// lower tries smaller numbers of repetitions and arguments where 1 is too small.
func (r *reducer) lower() bool {
	shrink := func(kind string, value uint64, change func(*misstepv1.Recipe, uint64)) bool {
		steps := []uint64{10, 2}
		if r.rate() < often {
			steps = steps[:1] // half as much gives a rate in between as a rule, and telling that takes too long where hits are rare
		}
		for _, by := range steps {
			for next := value / by; next > 1; next = value / by {
				to := proto.CloneOf(r.recipe)
				change(to, next)
				r.plan.Doing = fmt.Sprintf("%s %d instead of %d", kind, next, value)
				t := keepsMost(r.rate())
				if by == 2 {
					t = keepsAll(r.rate())
				}
				answer := r.changed(to, "lower", t)
				if answer == wait {
					return false
				}
				if answer == no {
					break
				}
				r.take(to, element{kind: kind, name: fmt.Sprintf("%d to %d", value, next)})
				value = next
			}
		}
		return true
	}
	if n := r.recipe.GetWorkload().GetRepetitions(); !shrink("repetitions", uint64(n), func(to *misstepv1.Recipe, n uint64) {
		to.Workload.Repetitions = uint32(n) // below the value that was there
	}) {
		return false
	}
	for i, text := range r.recipe.GetWorkload().GetArguments() {
		if n, err := strconv.ParseUint(text, 10, 63); err == nil {
			if !shrink("argument", n, func(to *misstepv1.Recipe, n uint64) { to.Workload.Arguments[i] = strconv.FormatUint(n, 10) }) {
				return false
			}
		}
	}
	return true
}

// audit measures the recipe as it is with fresh tries. Where the rate is lost, reductions are taken back, the last first, until it is
// there again.
func (r *reducer) audit() (*arm, bool) {
	var back []element // what was taken back last
	for {
		t := keepsMost(r.rate())
		t.beta = 0.01 // taking a good reduction back is dear here
		a := r.arm("audit", r.recipe)
		r.now(a)
		r.plan.Doing = "checks that the rate is kept"
		v, ok := r.judge(a, t)
		if v == low { // a false alarm would cost a good reduction, so it has to be low twice
			v, ok = r.judge(r.arm("audit again", r.recipe), t)
		}
		switch {
		case v == undecided && ok:
			return nil, false
		case v != low || len(r.undo) == 0:
			if len(back) == 1 { // it was this one; those taken back before it may go again
				r.banned[back[0].kind+" "+back[0].name] = true
			}
			return a, true
		}
		last := r.undo[len(r.undo)-1]
		r.undo = r.undo[:len(r.undo)-1]
		back = slices.Clone(r.removed[last.removed:])
		r.recipe, r.removed = last.recipe, r.removed[:last.removed]
	}
}

// singles tries every element that is left by itself until none can go.
func (r *reducer) singles() bool {
	for {
		left := r.left()
		removed := false
		waiting := false
		for _, e := range left {
			if r.banned[e.kind+" "+e.name] {
				continue
			}
			r.plan.Doing = fmt.Sprintf("tries each of the %d elements left once more", len(left))
			to := r.drop([]element{e})
			switch r.changed(to, "single", keeps(r.rate())) { // with tries of its own: an error of the first test is not repeated
			case wait:
				waiting = true // the others are asked for, too: most of them are needed, so little is wasted
				continue
			case no:
				continue
			case yes:
			}
			if waiting {
				continue // in order, or the result would depend on who was faster
			}
			r.take(to, e)
			removed = true
			break
		}
		switch {
		case waiting && !removed:
			return false
		case !removed:
			return true
		}
	}
}

func (r *reducer) left() ElementList {
	return Elements(r.recipe, nil, r.r.GetSpec().GetSignature())
}

// ElementList are the elements of one recipe.
type ElementList []element

// Elements of a recipe for whoever minimises it otherwise. When it instruments by ratio, leaving out the first element leaves the
// methods of the evidence, which are the last elements.
func Elements(recipe *misstepv1.Recipe, evidence []string, sig *misstepv1.Signature) ElementList {
	list := append(narrow(recipe, evidence), elements(recipe, sig)...)
	narrowed := proto.CloneOf(recipe)
	if len(list) > 0 && list[0].kind == "instrumentation" {
		list[0].drop(narrowed)
	}
	for _, e := range methods(narrowed) {
		drop := e.drop
		e.drop = func(r *misstepv1.Recipe) {
			if r.Instrumentation != nil {
				drop(r)
			}
		}
		list = append(list, e)
	}
	return list
}

// Without gives the recipe less the elements that go.
func (l ElementList) Without(recipe *misstepv1.Recipe, goes func(i int) bool) *misstepv1.Recipe {
	out := proto.CloneOf(recipe)
	for i, e := range l {
		if goes(i) {
			e.drop(out)
		}
	}
	return out
}

// Removal is a recipe with one of its elements left out.
type Removal struct {
	Element *misstepv1.RecipeElement
	Recipe  *misstepv1.Recipe
}

// Removals are all recipes that are one element smaller, for an exhaustive check of a reproducer.
func Removals(recipe *misstepv1.Recipe, sig *misstepv1.Signature) (out []Removal) {
	for _, e := range Elements(recipe, nil, sig) {
		smaller := proto.CloneOf(recipe)
		e.drop(smaller)
		if valid(smaller) {
			out = append(out, Removal{e.proto(), smaller})
		}
	}
	return out
}

// minimise removes what the bug does not need.
func (m *machine) minimise(best *arm, amplified bool) (outcome, bool) {
	m.begin(StepMinimise)
	m.now(best)
	first := append(narrow(best.recipe, m.r.GetSpec().GetMethods()), elements(best.recipe, m.r.GetSpec().GetSignature())...)
	r := &reducer{machine: m, recipe: best.recipe, banned: map[string]bool{}, all: len(first) + 4}
	// All tests compare with this rate, so it is measured to a seventh. What won a race was chosen for its luck, too, and does not count.
	again := m.arm("best", best.recipe)
	if !amplified {
		r.hits, r.tries = best.hits, len(best.results)
	}
	if wanted := int(math.Ceil(50 * (1 - best.rate()))); wanted > r.hits || amplified && r.hits < enoughHits {
		m.plan.Doing = "measures the rate to keep"
		m.plan.Left = m.guess(best.rate(), r.all, true)
		if !m.measure(again, max(wanted, enoughHits)-r.hits, 0, int(math.Ceil(100/best.rate()))) {
			return outcome{}, false
		}
	}
	r.hits, r.tries = r.hits+again.hits, r.tries+len(again.results)
	ready := r.reduce(first, false) && r.listed() && r.fewer() && r.lower()
	m.plan.Recipe = r.recipe
	m.plan.Left = m.guess(r.rate(), max(2, r.all-r.done), true)
	if !ready {
		return outcome{}, false
	}
	var final *arm
	for {
		a, ok := r.audit()
		if !ok {
			return outcome{}, false
		}
		before := len(r.removed)
		if !r.singles() {
			m.plan.Left = m.guess(r.rate(), 2, true)
			return outcome{}, false
		}
		if final = a; len(r.removed) == before {
			break
		}
	}
	result := outcome{measured: final}
	for _, e := range r.removed {
		result.removed = append(result.removed, e.proto())
	}
	for _, e := range r.left() {
		result.kept = append(result.kept, e.proto())
	}
	m.end(final.rate(), fmt.Sprintf("%d elements removed, %d are needed", len(result.removed), len(result.kept)))
	return result, true
}
