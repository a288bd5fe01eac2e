package reproduce

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
	"misstep/signature"
)

// outcome of minimising.
type outcome struct {
	measured      *arm // the final recipe with its tries
	removed, kept []*misstepv1.RecipeElement
}

// listed narrows an instrumentation by ratio to all methods that the finding's trial instrumented, where those of the evidence were not
// enough; fewer can halve them then. The list may have no room for all that were, so it is tested as any reduction.
func (r *reducer) listed() bool {
	spec := r.r.GetSpec()
	if len(spec.GetInstrumented()) == 0 {
		return true
	}
	return r.reduce(recipe.NarrowingElement(r.recipe, slices.Concat(spec.GetMethods(), spec.GetInstrumented())))
}

// fewer narrows the instrumentation to single methods: to the likeliest one at once, else to those of the evidence, which are then
// halved.
func (r *reducer) fewer() bool {
	candidates := r.r.GetSpec().GetMethods()
	if i := r.recipe.GetInstrumentation().GetOnly(); len(i) > 1 && len(candidates) > 0 && slices.Contains(i, candidates[0]) {
		r.plan.Doing = "instruments only " + candidates[0]
		others := slices.DeleteFunc(recipe.MethodElements(r.recipe), func(e recipe.Element) bool { return e.Name == candidates[0] })
		switch to := r.drop(others); r.keeps(to) {
		case wait:
			return false
		case yes:
			r.take(to, others...)
			return true
		case no:
		}
	}
	return r.reduce(recipe.MethodElements(r.recipe))
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
				e := recipe.Element{
					Kind: kind, Name: fmt.Sprintf("%d to %d", value, next),
					Drop: func(r *misstepv1.Recipe) { change(r, next) },
				}
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
func (r *reducer) smallest(first []recipe.Element) (*arm, bool) {
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
	var can []recipe.Element
	waiting := false
	for _, e := range left {
		r.plan.Doing = fmt.Sprintf("tries each of the %d elements left once more", len(left))
		switch r.changed(r.drop([]recipe.Element{e}), sharp, plain) {
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
	return slices.DeleteFunc(r.left(), func(e recipe.Element) bool {
		loss, back := r.back[e.ID()]
		return back && loss >= most
	})
}

func (r *reducer) left() ElementList {
	return Elements(r.recipe, nil, r.r.GetSpec().GetSignature())
}

// minimise removes what the bug does not need.
func (m *machine) minimise(best *arm, amplified bool) (outcome, bool) {
	m.begin(StepMinimise)
	m.now(best)
	first := append(recipe.NarrowingElement(best.recipe, m.r.GetSpec().GetMethods()),
		recipe.Elements(best.recipe, signature.CheckOf(m.r.GetSpec().GetSignature()))...)
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
		result.removed = append(result.removed, e.Proto())
	}
	for _, e := range r.left() {
		result.kept = append(result.kept, e.Proto())
	}
	m.end(final.rate(), fmt.Sprintf("%d elements removed, %d are needed", len(result.removed), len(result.kept)))
	return result, true
}
