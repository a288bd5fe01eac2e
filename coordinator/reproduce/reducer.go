package reproduce

import (
	"fmt"
	"math"

	"google.golang.org/protobuf/proto"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
)

var (
	// coarse is the comparison that removes most elements: nearly all of them have no effect or are indispensable, and a few hits
	// suffice to tell which.
	coarse = comparison{upper: 1, lower: 0.35, alpha: 0.03, beta: 0.02, patience: 60}
	// halved ends a test when the recipe appears to have half of the rate. There a coarse comparison would take long, and
	// everything later would be compared with a rate that is already lost; a sharp one would take long to state the obvious.
	halved = comparison{upper: 1, lower: 0.5, alpha: 1e-9, beta: 0.02, patience: 300}
	// keepsWell is the sharp comparison, which decides whether what is left keeps the rate.
	keepsWell = comparison{upper: 1, lower: 0.75, alpha: 0.04, beta: 0.02, patience: 400}
	// keepsMost is used where most of the rate is enough: for everything that coarse tests removed, since a rejection starts a
	// screen, which costs more than certainty does, and for what a screen has measured.
	keepsMost = comparison{upper: 0.95, lower: 0.7, alpha: 0.03, beta: 0.008, patience: 400}
)

const (
	// referenceHits, less where hits are frequentRate, are had before anything is compared with the reference.
	referenceHits = 50
	// missedElementChance is the chance that any of the elements left at the end could be removed without loss of rate.
	missedElementChance = 0.02
	// frequentRate is the rate from which numbers are also halved.
	frequentRate = 0.25
	// retryShare is the share of the rate that must be left without an element for the element to be tried once more at the end.
	retryShare = 0.9
)

// finalTests returns the comparisons that test each of n elements at the end; either may reject.
func finalTests(n int) (sharp, early comparison) {
	sharp, early = keepsWell, halved
	sharp.beta, early.beta = missedElementChance/2/float64(n), missedElementChance/2/float64(n)
	return sharp, early
}

// reducer makes one recipe smaller.
type reducer struct {
	*machine
	// reference holds the tries of the initial recipe, whose rate is to be kept. The reference is never replaced by that of a
	// smaller recipe, so that many small losses do not pass one by one.
	reference []bool
	// referenceArm provides further tries of the initial recipe.
	referenceArm *arm
	// referenceTries is the number of tries of the reference that every test considers at least: as many as an earlier test
	// considered, so that the luck of the first few does not affect test after test.
	referenceTries int
	// initial is the recipe to minimise; current is what is left of it.
	initial, current *misstepv1.Recipe
	removed          []recipe.Element
	// restoredLoss maps the ids of the elements that were restored to the minimum that each costs by itself: minus the logarithm of
	// the share of the rate that is left without it.
	restoredLoss map[string]float64
	// decided counts the elements, of total, of which it is known whether they are needed.
	decided, total int
}

// rateToKeep is the rate of the initial recipe.
func (r *reducer) rateToKeep() float64 { return count(r.reference, r.referenceTries).rate() }

// count counts the first n results.
func count(results []bool, n int) (c counts) {
	for _, hit := range results[:min(n, len(results))] {
		c.add(hit)
	}
	return c
}

// answer of a test of the reducer.
type answer int

const (
	wait answer = iota // results are missing
	yes
	no
)

// testChange tests whether a change keeps the rate, without accepting it.
func (r *reducer) testChange(to *misstepv1.Recipe, c comparison, rejecting ...comparison) answer {
	if proto.Equal(to, r.current) || !recipe.Runnable(to) {
		return no
	}
	return r.compare(r.arm("keeps", to), c, rejecting...)
}

// testCoarsely tests coarsely whether a change keeps the rate.
func (r *reducer) testCoarsely(to *misstepv1.Recipe) answer {
	return r.testChange(to, coarse, halved)
}

// compare compares an arm with the reference, which gets at least as many tries as the arm: how many of them count depends on the
// arm's tries alone. The answer is also no as soon as any of the rejecting comparisons rejects.
func (r *reducer) compare(a *arm, c comparison, rejecting ...comparison) answer {
	reference := count(r.reference, r.referenceTries)
	step := stepSize(reference)
	of := counts{}
	defer func() { r.referenceTries = max(r.referenceTries, min(reference.tries, len(r.reference))) }()
	for {
		for n := min(of.tries, len(r.reference)); reference.tries < n; {
			reference.add(r.reference[reference.tries])
		}
		switch c.verdict(reference, of, rejecting) {
		case high:
			return yes
		case low:
			return no
		}
		n, waits := of.tries+min(step, max(1, c.maxTries(reference)-of.tries)), false
		if n > len(a.results) {
			n = of.tries + c.triesNeeded(reference, of, rejecting...)
			if !r.ask(a, n-len(a.results)) { // no further tries are possible: the likelier verdict, if anything is known
				if of.tries > 0 && c.llr(reference, of) > 0 {
					return yes
				}
				return no
			}
			waits = true
		}
		if lacks := n - len(r.reference); lacks > 0 && r.ask(r.referenceArm, lacks) {
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

// without returns the current recipe without these elements.
func (r *reducer) without(elements []recipe.Element) *misstepv1.Recipe {
	to := proto.CloneOf(r.current)
	for _, e := range elements {
		e.Drop(to)
	}
	return to
}

// accept makes to, which lacks these elements, the current recipe.
func (r *reducer) accept(to *misstepv1.Recipe, elements ...recipe.Element) {
	r.current = to
	r.removed = append(r.removed, elements...)
}

// tryChange applies the change that e stands for if the sharp test says that it keeps the rate.
func (r *reducer) tryChange(e recipe.Element, doing string) answer {
	to := r.without([]recipe.Element{e})
	r.plan.Doing = doing
	answer := r.testChange(to, keepsWell, halved)
	if answer == yes {
		r.accept(to, e)
	}
	return answer
}

// reduce removes elements in groups, by F. K. Hwang's algorithm (A method for detecting all defective members in a population by
// group testing, 1972): a group that cannot be removed is halved until one needed element is found, and those of its elements that
// were not tested join the next group. It returns false while results are missing.
func (r *reducer) reduce(pool []recipe.Element) bool {
	needed, decided := 0, 0
	for len(pool) > 0 {
		group := pool[:groupSize(needed, decided, len(pool))]
		for first := true; first || len(group) > 1; first = false {
			part := group
			if !first {
				part = group[:len(group)/2]
			}
			r.plan.Doing = fmt.Sprintf("leaves out %d elements at once", len(part))
			if len(part) == 1 {
				r.plan.Doing = "leaves out " + part[0].Kind + " " + part[0].Name
			}
			switch r.testCoarsely(r.without(part)) {
			case wait:
				return false
			case yes:
				r.accept(r.without(part), part...)
				r.decided += len(part)
				decided += len(part)
				pool, group = pool[len(part):], group[len(part):]
			case no:
				group = part
			}
		}
		if len(group) == 1 {
			r.decided++
			needed++
			decided++
			pool = pool[1:]
		}
	}
	return true
}

// groupSize returns the size of a group that can be removed about every other time, when needed of the decided elements were
// needed. The first group is everything.
func groupSize(needed, decided, remaining int) int {
	if needed == 0 {
		return remaining
	}
	const elementsPerNeeded = 20 // as long as nothing is known
	return max(1, min(remaining, int(math.Round(math.Ln2*float64(decided+elementsPerNeeded)/float64(needed+1)))))
}
