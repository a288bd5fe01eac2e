package reproduce

import (
	"fmt"
	"math"

	"google.golang.org/protobuf/proto"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
)

var (
	// coarse is the comparison by which most is left out: nearly all elements do nothing or are needed outright, which it tells by
	// a few hits.
	coarse = comparison{upper: 1, lower: 0.35, alpha: 0.03, beta: 0.02, patience: 60}
	// halved ends a test when the recipe looks like half of the rate: a coarse comparison takes long there, and all that follows
	// would be compared with a rate that is lost already; a sharp one takes long to say what is plain.
	halved = comparison{upper: 1, lower: 0.5, alpha: 1e-9, beta: 0.02, patience: 300}
	// keepsWell says of what is left that it keeps the rate.
	keepsWell = comparison{upper: 1, lower: 0.75, alpha: 0.04, beta: 0.02, patience: 400}
	// keepsMost says it where most of the rate is enough: of all that coarse tests left out, since its no begins a screen, which
	// costs more than to be sure, and of what a screen has measured.
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
	// reference has the tries of the recipe to begin with, whose rate is to be kept. It stays, so that many small losses do not
	// pass one by one.
	reference []bool
	// more tries of it are had from again.
	again *arm
	// least tries of it that every test looks at: as many as an earlier one had, so that the luck of the first few does not come
	// again and again.
	least int
	// best is the recipe to begin with, recipe what is left of it.
	best, recipe *misstepv1.Recipe
	removed      []recipe.Element
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
	if proto.Equal(to, r.recipe) || !recipe.Runnable(to) {
		return no
	}
	return r.compare(r.arm("keeps", to), c, also...)
}

// keeps tests coarsely whether the rate is kept by a change.
func (r *reducer) keeps(to *misstepv1.Recipe) answer {
	return r.changed(to, coarse, halved)
}

// compare an arm with the reference, which has as many tries as the arm at least: which of its tries count depends on the arm's
// alone. It is no as soon as any of the others says so, too.
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

func (r *reducer) drop(elements []recipe.Element) *misstepv1.Recipe {
	to := proto.CloneOf(r.recipe)
	for _, e := range elements {
		e.Drop(to)
	}
	return to
}

func (r *reducer) take(to *misstepv1.Recipe, elements ...recipe.Element) {
	r.recipe = to
	r.removed = append(r.removed, elements...)
}

// attempt leaves out what the sharp test says can go.
func (r *reducer) attempt(e recipe.Element, doing string) answer {
	to := r.drop([]recipe.Element{e})
	r.plan.Doing = doing
	answer := r.changed(to, keepsWell, halved)
	if answer == yes {
		r.take(to, e)
	}
	return answer
}

// reduce removes what it can of the elements in groups, as F. K. Hwang does (A method for detecting all defective members in a
// population by group testing, 1972): a group that cannot go is halved until one needed element is found, and those of it that were
// not looked at join the next group. It is false while it waits.
func (r *reducer) reduce(pool []recipe.Element) bool {
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
				r.plan.Doing = "leaves out " + part[0].Kind + " " + part[0].Name
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
