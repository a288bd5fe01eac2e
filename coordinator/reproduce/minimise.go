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

// outcome is the result of minimising.
type outcome struct {
	measured      *arm // the final recipe with its tries
	removed, kept []*misstepv1.RecipeElement
}

// narrowToInstrumented narrows an instrumentation by ratio to all methods that the finding's trial instrumented, where those of the
// evidence were not enough; narrowToFewMethods can halve them then. The list may have no room for all of them, so it is tested like
// any reduction.
func (r *reducer) narrowToInstrumented() bool {
	spec := r.r.GetSpec()
	if len(spec.GetInstrumented()) == 0 {
		return true
	}
	return r.reduce(recipe.NarrowingElement(r.current, slices.Concat(spec.GetMethods(), spec.GetInstrumented())))
}

// narrowToFewMethods narrows the instrumentation to single methods: to the likeliest one at once, else to those of the evidence,
// which are then halved.
func (r *reducer) narrowToFewMethods() bool {
	candidates := r.r.GetSpec().GetMethods()
	if i := r.current.GetInstrumentation().GetOnly(); len(i) > 1 && len(candidates) > 0 && slices.Contains(i, candidates[0]) {
		r.plan.Doing = "instruments only " + candidates[0]
		others := slices.DeleteFunc(recipe.MethodElements(r.current),
			func(e recipe.Element) bool { return e.Name == candidates[0] })
		switch to := r.without(others); r.testCoarsely(to) {
		case wait:
			return false
		case yes:
			r.accept(to, others...)
			return true
		case no:
		}
	}
	return r.reduce(recipe.MethodElements(r.current))
}

// shrinkNumbers tries smaller numbers of repetitions, and smaller arguments, where 1 is too small.
func (r *reducer) shrinkNumbers() bool {
	shrink := func(kind string, value uint64, change func(*misstepv1.Recipe, uint64)) bool {
		steps := []uint64{10, 2}
		if r.rateToKeep() < frequentRate {
			steps = steps[:1] // halving usually gives a rate in between, and to recognise it takes too long where hits are rare
		}
		for _, by := range steps {
			for next := value / by; next > 1; next = value / by {
				e := recipe.Element{
					Kind: kind, Name: fmt.Sprintf("%d to %d", value, next),
					Drop: func(r *misstepv1.Recipe) { change(r, next) },
				}
				answer := r.tryChange(e, fmt.Sprintf("%s %d instead of %d", kind, next, value))
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
	if n := r.current.GetWorkload().GetRepetitions(); !shrink("repetitions", uint64(n), func(to *misstepv1.Recipe, n uint64) {
		to.Workload.Repetitions = uint32(n) // below the value that was there
	}) {
		return false
	}
	for i, text := range r.current.GetWorkload().GetArguments() {
		if n, err := strconv.ParseUint(text, 10, 63); err == nil {
			if !shrink("argument", n,
				func(to *misstepv1.Recipe, n uint64) { to.Workload.Arguments[i] = strconv.FormatUint(n, 10) }) {
				return false
			}
		}
	}
	return true
}

// findSmallest returns the smallest recipe found that keeps the rate, with its tries.
func (r *reducer) findSmallest(first []recipe.Element) (*arm, bool) {
	if !r.reduce(first) || !r.narrowToInstrumented() || !r.narrowToFewMethods() {
		return nil, false
	}
	for round := 1; ; round++ {
		answer := r.checkRateKept()
		if answer == wait {
			return nil, false
		}
		const maxRounds = 6
		if answer == yes || round == maxRounds {
			break
		}
		// What was needed before, when the rate was already lost, may not be needed now. What was restored is worth too much for a
		// coarse test.
		if !r.reduce(r.removable(math.Inf(-1))) {
			return nil, false
		}
	}
	if !r.shrinkNumbers() || !r.confinePerturbation() {
		return nil, false
	}
	for left := r.removable(-math.Log(retryShare)); len(left) > 0; {
		var ok bool
		if left, ok = r.removeSingly(left); !ok {
			return nil, false
		}
	}
	a := r.arm("keeps", r.current)
	if len(r.removed) == 0 {
		c := count(r.reference, len(r.reference))
		a = &arm{key: r.referenceArm.key, recipe: r.current, results: r.reference, hits: c.hits}
	}
	r.noteCurrent(a)
	return a, true
}

// checkRateKept tests whether the current recipe keeps the rate. If not, it restores what the rate needs.
func (r *reducer) checkRateKept() answer {
	if len(r.removed) == 0 {
		return yes
	}
	a := r.arm("keeps", r.current)
	r.noteCurrent(a)
	r.plan.Doing = "checks that the rate is kept"
	c := keepsMost
	if len(r.restoredLoss) > 0 { // many small losses
		c = keepsWell
	}
	answer := r.compare(a, c, halved)
	if answer == no && !r.screen() {
		return wait
	}
	return answer
}

// removeSingly tests the removal of each element alone, and removes those that can be removed together. It returns the others that
// could have been removed alone: an element that cannot be removed alone cannot be removed from a smaller recipe either. ok is
// false while results are missing.
func (r *reducer) removeSingly(left ElementList) (alternatives ElementList, ok bool) {
	sharp, early := finalTests(len(left))
	var removable []recipe.Element
	waiting := false
	for _, e := range left {
		r.plan.Doing = fmt.Sprintf("tests each of the %d remaining elements once more", len(left))
		switch r.testChange(r.without([]recipe.Element{e}), sharp, early) {
		case wait:
			waiting = true // request the others, too: most of them are needed, so little is wasted
		case yes:
			removable = append(removable, e)
		case no:
		}
	}
	if waiting {
		return nil, false
	}
	out := removable
	for len(out) > 1 { // usually all at once; else half of them, as each may stand in for the others
		r.plan.Doing = fmt.Sprintf("leaves out %d of %d elements that can be removed one by one", len(out), len(removable))
		answer := r.testChange(r.without(out), sharp, early)
		if answer == wait {
			return nil, false
		}
		if answer == yes {
			break
		}
		out = out[:len(out)/2]
	}
	if len(out) > 0 {
		r.accept(r.without(out), out...)
	}
	return removable[len(out):], true
}

// removable returns the remaining elements that may yet be removed: those that were never restored, and those that cost less than
// maxLoss.
func (r *reducer) removable(maxLoss float64) ElementList {
	return slices.DeleteFunc(r.remaining(), func(e recipe.Element) bool {
		loss, restored := r.restoredLoss[e.ID()]
		return restored && loss >= maxLoss
	})
}

// remaining returns the elements of the current recipe.
func (r *reducer) remaining() ElementList {
	return Elements(r.current, nil, r.r.GetSpec().GetSignature())
}

// minimise removes what the bug does not need.
func (m *machine) minimise(best *arm, amplified bool) (outcome, bool) {
	m.begin(StepMinimise)
	m.noteCurrent(best)
	first := append(recipe.NarrowingElement(best.recipe, m.r.GetSpec().GetMethods()),
		recipe.Elements(best.recipe, signature.CheckOf(m.r.GetSpec().GetSignature()))...)
	r := &reducer{machine: m, current: best.recipe, restoredLoss: map[string]float64{}, total: len(first) + 4}
	// All tests compare with this rate. The tries of a recipe that won a race do not count, since luck helped to choose it.
	r.referenceArm = m.arm("best", best.recipe)
	hits := 0
	if !amplified {
		r.reference, hits = slices.Clone(best.results), best.hits
	}
	if wanted := max(int(math.Ceil(referenceHits*(1-best.rate()))), enoughHits) - hits; wanted > 0 {
		m.plan.Doing = "measures the rate to keep"
		m.plan.Left = m.estimateTries(best.rate(), r.total, true)
		most := int(math.Ceil(100 / best.rate()))
		if !m.measure(r.referenceArm, wanted, 0, most) {
			return outcome{}, false
		}
		for n := 0; wanted > 0 && n < min(most, len(r.referenceArm.results)); n++ { // it may have more tries by now
			r.referenceTries++
			if r.referenceArm.results[n] {
				wanted--
			}
		}
	}
	r.referenceTries += len(r.reference)
	r.reference = append(r.reference, r.referenceArm.results...)
	if len(r.reference) == 0 { // no tries are possible
		r.reference, r.referenceTries = best.results, len(best.results)
	}
	r.initial = best.recipe
	final, ok := r.findSmallest(first)
	m.plan.Recipe = r.current
	m.plan.Left = m.estimateTries(r.rateToKeep(), max(2, r.total-r.decided), true)
	if !ok {
		return outcome{}, false
	}
	result := outcome{measured: final}
	for _, e := range r.removed {
		result.removed = append(result.removed, e.Proto())
	}
	for _, e := range r.remaining() {
		result.kept = append(result.kept, e.Proto())
	}
	m.end(final.rate(), fmt.Sprintf("%d elements removed, %d are needed", len(result.removed), len(result.kept)))
	return result, true
}
