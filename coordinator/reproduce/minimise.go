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

// id tells elements of a recipe apart.
func (e element) id() string { return e.kind + " " + e.name }

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
		{"mismatches", l.GetMismatches(), 0, func(r *misstepv1.Recipe) { r.Limits.Mismatches = 0 }},
	} {
		if x.value != 0 && x.value != x.standard {
			add("limit", x.name+" "+strconv.FormatUint(uint64(x.value), 10), x.drop)
		}
	}
	if e := r.GetEvidence(); e != "" {
		add("evidence", e, func(r *misstepv1.Recipe) { r.Evidence = "" })
	}
	check := checkOf(sig)
	for _, c := range r.GetChecks() {
		name := c.GetName()
		setting := func(what string, drop func(*misstepv1.Check)) {
			add("check", name+" "+what, func(r *misstepv1.Recipe) {
				if i := slices.IndexFunc(r.Checks, func(c *misstepv1.Check) bool { return c.GetName() == name }); i >= 0 {
					drop(r.Checks[i])
				}
			})
		}
		if c.GetReference() != "" {
			setting("by "+c.GetReference(), func(c *misstepv1.Check) { c.Reference = "" })
		}
		if d := c.GetInterval().AsDuration(); d > 0 {
			setting("each "+d.String(), func(c *misstepv1.Check) { c.Interval = nil })
		}
		if name != check && (check != "" || len(r.GetChecks()) > 1) {
			add("check", name, func(r *misstepv1.Recipe) {
				r.Checks = slices.DeleteFunc(r.Checks, func(c *misstepv1.Check) bool { return c.GetName() == name })
				campaign.Tidy(r)
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
		if s.GetBurst() > 1 {
			add("sampling", fmt.Sprintf("burst %d", s.GetBurst()), func(r *misstepv1.Recipe) {
				if r.Sampling != nil {
					r.Sampling.Burst = 0
				}
			})
		}
		if s.GetGuesses() > 0 {
			add("sampling", fmt.Sprintf("guesses %d", s.GetGuesses()), func(r *misstepv1.Recipe) {
				if r.Sampling != nil {
					r.Sampling.Guesses = 0
				}
			})
		}
		if s.GetThreads() != "" {
			add("sampling", "threads "+s.GetThreads(), func(r *misstepv1.Recipe) {
				if r.Sampling != nil {
					r.Sampling.Threads = ""
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
	if p := r.GetPerturbation(); misstepv1.Disturbs(p.GetStrategy()) {
		if p.GetSeed() != 0 {
			add("perturbation", "seed "+strconv.FormatUint(p.GetSeed(), 10), func(r *misstepv1.Recipe) {
				if r.Perturbation != nil {
					r.Perturbation.Seed = 0
				}
			})
		}
		for _, k := range slices.Sorted(maps.Keys(p.GetParameters())) {
			if misstepv1.Confines(k) {
				continue
			}
			add("perturbation", fmt.Sprintf("%s %g", k, p.GetParameters()[k]), func(r *misstepv1.Recipe) {
				delete(r.GetPerturbation().GetParameters(), k)
			})
		}
		add("perturbation", p.GetStrategy(), func(r *misstepv1.Recipe) {
			r.Perturbation = nil
			campaign.Tidy(r)
		})
	}
	if e := r.GetExecutor(); e != "" && e != "host" {
		add("executor", e, func(r *misstepv1.Recipe) { r.Executor = "" })
	}
	if r.GetSeed() != 0 {
		add("seed", strconv.FormatUint(r.GetSeed(), 10), func(r *misstepv1.Recipe) { r.Seed = 0 })
	}
	for _, pattern := range r.GetInstrumentation().GetExclude() {
		add("instrumentation", "exclude "+pattern, func(r *misstepv1.Recipe) {
			if r.Instrumentation != nil {
				r.Instrumentation.Exclude = without(r.Instrumentation.Exclude, pattern)
			}
		})
	}
	for _, pattern := range r.GetInstrumentation().GetInclude() {
		add("instrumentation", "include "+pattern, func(r *misstepv1.Recipe) {
			if r.Instrumentation != nil {
				r.Instrumentation.Include = without(r.Instrumentation.Include, pattern)
			}
		})
	}
	if args := r.GetWorkload().GetArguments(); len(args) > 1 {
		for i, a := range args {
			add("argument", a, func(r *misstepv1.Recipe) { r.Workload.Arguments = withoutArgument(r.Workload.Arguments, a, i) })
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
				if r.Instrumentation != nil { // the recipe may instrument by ratio again
					r.Instrumentation.Only = without(r.Instrumentation.Only, name)
				}
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

// withoutArgument a, which was the i-th of all and may be 1 by now. Arguments before it may be gone, so it is the last of those that it can be.
func withoutArgument(list []string, a string, i int) []string {
	_, err := strconv.ParseUint(a, 10, 63)
	for j := min(i, len(list)-1); j >= 0; j-- {
		if list[j] == a || err == nil && list[j] == "1" {
			return slices.Delete(slices.Clone(list), j, j+1)
		}
	}
	return list
}

// outcome of minimising.
type outcome struct {
	measured      *arm // the final recipe with its tries
	removed, kept []*misstepv1.RecipeElement
}

var (
	// coarse is the comparison by which most is left out: nearly all elements do nothing or are needed outright, which it tells by a few hits.
	coarse = comparison{upper: 1, lower: 0.35, alpha: 0.03, beta: 0.02, patience: 60}
	// halved ends a test when the recipe looks like half of the rate: a coarse comparison takes long there, and all that follows would be
	// compared with a rate that is lost already; a sharp one takes long to say what is plain.
	halved = comparison{upper: 1, lower: 0.5, alpha: 1e-9, beta: 0.02, patience: 300}
	// keepsWell says of what is left that it keeps the rate.
	keepsWell = comparison{upper: 1, lower: 0.75, alpha: 0.04, beta: 0.02, patience: 400}
	// keepsMost says it where most of the rate is enough: of all that coarse tests left out, since its no begins a screen, which costs more than to be
	// sure, and of what a screen has measured.
	keepsMost = comparison{upper: 0.95, lower: 0.7, alpha: 0.03, beta: 0.008, patience: 400}
)

const (
	// referenceHits, less where hits are frequent, are had before anything is compared with the reference.
	referenceHits = 50
	// missed is the chance that any of the elements that are left at the end could go with all of the rate.
	missed = 0.02
	// frequent is the rate from which numbers are halved, too.
	frequent = 0.25
	// canGo is the share of the rate that an element must leave for it to be tried once more at the end.
	canGo = 0.9
)

// goes tests an element at the end, when there are n in all; both may say no.
func goes(n int) (sharp, plain comparison) {
	sharp, plain = keepsWell, halved
	sharp.beta, plain.beta = missed/2/float64(n), missed/2/float64(n)
	return sharp, plain
}

// reducer makes one recipe smaller.
type reducer struct {
	*machine
	// reference has the tries of the recipe to begin with, whose rate is to be kept. It stays, so that many small losses do not pass one by one.
	reference []bool
	// more tries of it are had from again.
	again *arm
	// least tries of it that every test looks at: as many as an earlier one had, so that the luck of the first few does not come again and again.
	least int
	// best is the recipe to begin with, recipe what is left of it.
	best, recipe *misstepv1.Recipe
	removed      []element
	// back holds elements that were put back, with what each costs by itself at least: the logarithm of a share of the rate.
	back map[string]float64
	// done counts the elements that are settled, of all.
	done, all int
}

// rate to keep.
func (r *reducer) rate() float64 { return count(r.reference, r.least).rate() }

// count of the first n results.
func count(results []bool, n int) (c counts) {
	for _, hit := range results[:min(n, len(results))] {
		c.add(hit)
	}
	return c
}

// answers of a test of the reducer.
type answer int

const (
	wait answer = iota
	yes
	no
)

// changed tests whether the rate is kept by a change; it does not take it.
func (r *reducer) changed(to *misstepv1.Recipe, c comparison, also ...comparison) answer {
	if proto.Equal(to, r.recipe) || !campaign.Works(to) {
		return no
	}
	return r.compare(r.arm("keeps", to), c, also...)
}

// keeps tests coarsely whether the rate is kept by a change.
func (r *reducer) keeps(to *misstepv1.Recipe) answer {
	return r.changed(to, coarse, halved)
}

// compare an arm with the reference, which has as many tries as the arm at least: which of its tries count depends on the arm's alone. It is
// no as soon as any of the others says so, too.
func (r *reducer) compare(a *arm, c comparison, also ...comparison) answer {
	reference := count(r.reference, r.least)
	pace := pace(reference)
	of := counts{}
	defer func() { r.least = max(r.least, min(reference.tries, len(r.reference))) }()
	for {
		for n := min(of.tries, len(r.reference)); reference.tries < n; {
			reference.add(r.reference[reference.tries])
		}
		switch c.verdict(reference, of, also) {
		case high:
			return yes
		case low:
			return no
		}
		n, waits := of.tries+min(pace, max(1, c.most(reference)-of.tries)), false
		if n > len(a.results) {
			n = of.tries + c.lacks(reference, of, also...)
			if !r.ask(a, n-len(a.results)) { // no more can be had: the likelier, if anything is known
				if of.tries > 0 && c.llr(reference, of) > 0 {
					return yes
				}
				return no
			}
			waits = true
		}
		if lacks := n - len(r.reference); lacks > 0 && r.ask(r.again, lacks) {
			waits = true
		}
		if waits {
			return wait
		}
		for _, hit := range a.results[of.tries:n] {
			of.add(hit)
		}
	}
}

func (r *reducer) drop(elements []element) *misstepv1.Recipe {
	to := proto.CloneOf(r.recipe)
	for _, e := range elements {
		e.drop(to)
	}
	return to
}

func (r *reducer) take(to *misstepv1.Recipe, elements ...element) {
	r.recipe = to
	r.removed = append(r.removed, elements...)
}

// attempt leaves out what the sharp test says can go.
func (r *reducer) attempt(e element, doing string) answer {
	to := r.drop([]element{e})
	r.plan.Doing = doing
	answer := r.changed(to, keepsWell, halved)
	if answer == yes {
		r.take(to, e)
	}
	return answer
}

// reduce removes what it can of the elements in groups, as F. K. Hwang does (A method for detecting all defective members in a population
// by group testing, 1972): a group that cannot go is halved until one needed element is found, and those of it that were not looked at join the
// next group. It is false while it waits.
func (r *reducer) reduce(pool []element) bool {
	needed, settled := 0, 0
	for len(pool) > 0 {
		group := pool[:groupSize(needed, settled, len(pool))]
		for first := true; first || len(group) > 1; first = false {
			part := group
			if !first {
				part = group[:len(group)/2]
			}
			r.plan.Doing = fmt.Sprintf("leaves out %d elements at once", len(part))
			if len(part) == 1 {
				r.plan.Doing = "leaves out " + part[0].kind + " " + part[0].name
			}
			switch r.keeps(r.drop(part)) {
			case wait:
				return false
			case yes:
				r.take(r.drop(part), part...)
				r.done += len(part)
				settled += len(part)
				pool, group = pool[len(part):], group[len(part):]
			case no:
				group = part
			}
		}
		if len(group) == 1 {
			r.done++
			needed++
			settled++
			pool = pool[1:]
		}
	}
	return true
}

// groupSize is the size of group that can go about every other time, when so many of those settled were needed: all at first.
func groupSize(needed, settled, left int) int {
	if needed == 0 {
		return left
	}
	const usual = 20 // elements to a needed one, as long as nothing is known
	return max(1, min(left, int(math.Round(math.Ln2*float64(settled+usual)/float64(needed+1)))))
}

// narrow is the element whose removal leaves only the methods given to be instrumented; nil when the recipe names methods already,
// instruments none, or needs none.
func narrow(r *misstepv1.Recipe, only []string) []element {
	i := r.GetInstrumentation()
	ratio := 1.0
	if i != nil {
		ratio = i.GetRatio()
	}
	if len(i.GetOnly()) > 0 || len(only) == 0 || ratio == 0 || !campaign.UsesMethods(r.GetChecks(), r.GetPerturbation()) {
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
	return r.reduce(narrow(r.recipe, slices.Concat(spec.GetMethods(), spec.GetInstrumented())))
}

// fewer narrows the instrumentation to single methods: to the likeliest one at once, else to those of the evidence, which are then
// halved.
func (r *reducer) fewer() bool {
	candidates := r.r.GetSpec().GetMethods()
	if i := r.recipe.GetInstrumentation().GetOnly(); len(i) > 1 && len(candidates) > 0 && slices.Contains(i, candidates[0]) {
		r.plan.Doing = "instruments only " + candidates[0]
		others := slices.DeleteFunc(methods(r.recipe), func(e element) bool { return e.name == candidates[0] })
		switch to := r.drop(others); r.keeps(to) {
		case wait:
			return false
		case yes:
			r.take(to, others...)
			return true
		case no:
		}
	}
	return r.reduce(methods(r.recipe))
}

// lower tries smaller numbers of repetitions and arguments where 1 is too small.
func (r *reducer) lower() bool {
	shrink := func(kind string, value uint64, change func(*misstepv1.Recipe, uint64)) bool {
		steps := []uint64{10, 2}
		if r.rate() < frequent {
			steps = steps[:1] // half as much gives a rate in between as a rule, and telling that takes too long where hits are rare
		}
		for _, by := range steps {
			for next := value / by; next > 1; next = value / by {
				e := element{kind, fmt.Sprintf("%d to %d", value, next), func(r *misstepv1.Recipe) { change(r, next) }}
				answer := r.attempt(e, fmt.Sprintf("%s %d instead of %d", kind, next, value))
				if answer == wait {
					return false
				}
				if answer == no {
					break
				}
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

// smallest recipe that keeps the rate, with its tries.
func (r *reducer) smallest(first []element) (*arm, bool) {
	if !r.reduce(first) || !r.listed() || !r.fewer() {
		return nil, false
	}
	for round := 1; ; round++ {
		answer := r.settled()
		if answer == wait {
			return nil, false
		}
		const enough = 6
		if answer == yes || round == enough {
			break
		}
		// What was needed before, when the rate was lost already, may not be now. What was put back is too dear for a coarse test.
		if !r.reduce(r.free(math.Inf(-1))) {
			return nil, false
		}
	}
	if !r.lower() || !r.confine() {
		return nil, false
	}
	for left := r.free(-math.Log(canGo)); len(left) > 0; {
		var ok bool
		if left, ok = r.singles(left); !ok {
			return nil, false
		}
	}
	a := r.arm("keeps", r.recipe)
	if len(r.removed) == 0 {
		c := count(r.reference, len(r.reference))
		a = &arm{key: r.again.key, recipe: r.recipe, results: r.reference, hits: c.hits}
	}
	r.now(a)
	return a, true
}

// settled says whether what is left keeps the rate as it is. If not, what it needs is put back.
func (r *reducer) settled() answer {
	if len(r.removed) == 0 {
		return yes
	}
	a := r.arm("keeps", r.recipe)
	r.now(a)
	r.plan.Doing = "checks that the rate is kept"
	c := keepsMost
	if len(r.back) > 0 { // there are many small losses
		c = keepsWell
	}
	answer := r.compare(a, c, halved)
	if answer == no && !r.screen() {
		return wait
	}
	return answer
}

// singles tries each of the elements by itself, and takes out what can go together. It returns those that could have gone instead: what cannot go by
// itself cannot when there is less beside it. It is false while it waits.
func (r *reducer) singles(left ElementList) (again ElementList, ok bool) {
	sharp, plain := goes(len(left))
	var can []element
	waiting := false
	for _, e := range left {
		r.plan.Doing = fmt.Sprintf("tries each of the %d elements left once more", len(left))
		switch r.changed(r.drop([]element{e}), sharp, plain) {
		case wait:
			waiting = true // the others are asked for, too: most of them are needed, so little is wasted
		case yes:
			can = append(can, e)
		case no:
		}
	}
	if waiting {
		return nil, false
	}
	out := can
	for len(out) > 1 { // all at once as a rule; else half of them, as each may do for the others
		r.plan.Doing = fmt.Sprintf("leaves out %d of %d elements that can go by themselves", len(out), len(can))
		answer := r.changed(r.drop(out), sharp, plain)
		if answer == wait {
			return nil, false
		}
		if answer == yes {
			break
		}
		out = out[:len(out)/2]
	}
	if len(out) > 0 {
		r.take(r.drop(out), out...)
	}
	return can[len(out):], true
}

// free elements may still go: those that were never put back, and those that may cost less than so much.
func (r *reducer) free(most float64) ElementList {
	return slices.DeleteFunc(r.left(), func(e element) bool {
		loss, back := r.back[e.id()]
		return back && loss >= most
	})
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
	list = append(list, methods(narrowed)...)
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
		if campaign.Works(smaller) {
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
	r := &reducer{machine: m, recipe: best.recipe, back: map[string]float64{}, all: len(first) + 4}
	// All tests compare with this rate. What won a race was chosen for its luck, too, and does not count.
	r.again = m.arm("best", best.recipe)
	hits := 0
	if !amplified {
		r.reference, hits = slices.Clone(best.results), best.hits
	}
	if wanted := max(int(math.Ceil(referenceHits*(1-best.rate()))), enoughHits) - hits; wanted > 0 {
		m.plan.Doing = "measures the rate to keep"
		m.plan.Left = m.guess(best.rate(), r.all, true)
		most := int(math.Ceil(100 / best.rate()))
		if !m.measure(r.again, wanted, 0, most) {
			return outcome{}, false
		}
		for n := 0; wanted > 0 && n < min(most, len(r.again.results)); n++ { // it has more by now
			r.least++
			if r.again.results[n] {
				wanted--
			}
		}
	}
	r.least += len(r.reference)
	r.reference = append(r.reference, r.again.results...)
	if len(r.reference) == 0 { // nothing more can be had
		r.reference, r.least = best.results, len(best.results)
	}
	r.best = best.recipe
	final, ok := r.smallest(first)
	m.plan.Recipe = r.recipe
	m.plan.Left = m.guess(r.rate(), max(2, r.all-r.done), true)
	if !ok {
		return outcome{}, false
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
