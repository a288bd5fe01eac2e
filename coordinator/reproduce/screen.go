package reproduce

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"google.golang.org/protobuf/proto"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
)

// factor is something that was left out and may come back: an element, or several that stand for one.
type factor struct {
	elements []recipe.Element
	loss     float64 // estimated logarithm of the rate's share that leaving it out costs
}

// keptAlone is the share of the rate that is left when it alone is left out.
func (f factor) keptAlone() float64 { return math.Exp(-f.loss) }

// row is one recipe of a factorial design with its tries. Bit j of out says that factor j is left out.
type row struct {
	out uint64
	counts
}

// mostFactors of a design, by the bits of a row.
const mostFactors = 63

// design has a row for every combination that tells each factor's effect apart from those of all others: the columns of R. Plackett's and
// J. Burman's designs (The design of optimum multifactorial experiments, 1946) of a power of two of rows, and the same with everything
// turned round, so that two factors that need each other are taken for no third. Each factor is out in half of the rows. The first row is
// the one with nothing left out.
func design(factors int) (rows []uint64) {
	order := 1
	for order <= factors {
		order *= 2
	}
	all := uint64(1)<<factors - 1
	for i := range order {
		var out uint64
		for j := range factors {
			if bits.OnesCount(uint(i&(j+1)))%2 == 1 {
				out |= 1 << j
			}
		}
		rows = append(rows, out, all&^out)
	}
	slices.Sort(rows)
	return slices.Compact(rows) // of one or two factors
}

// fit finds the base rate p and the loss of each factor that suit the rows best when rates multiply: row i has p·exp(-Σ losses of what is out).
// Most factors do nothing, so each loss is drawn to 0 as by a double exponential prior of mean usualLoss. The log-likelihood is concave in
// the losses, so one coordinate after the other leads to its top.
func fit(rows []row, factors int) (base float64, losses []float64) {
	const (
		usualLoss = 0.1
		rounds    = 60
		certain   = 1e-4
		highest   = 1e-3 // minus the logarithm of the highest rate
	)
	x := make([]float64, factors+1) // the base rate's own logarithm is the last, and has no prior
	var whole counts                // begin with the rate where nothing is out
	for _, r := range rows {
		if r.out == 0 {
			whole.hits, whole.tries = whole.hits+r.hits, whole.tries+r.tries
		}
	}
	x[factors] = max(2*highest, -math.Log(whole.rate()))
	at := make([]float64, len(rows)) // minus the logarithm of each row's rate
	set := func() {
		for i, r := range rows {
			at[i] = x[factors]
			for j := range factors {
				if r.out&(1<<j) != 0 {
					at[i] += x[j]
				}
			}
		}
	}
	set()
	for range rounds {
		most := 0.0
		for j := factors; j >= 0; j-- { // the base rate first
			// Newton's step in this coordinate, kept small and where all rates stay below 1.
			slope, bend, room := 0.0, 1e-9, math.Inf(1)
			for i, r := range rows {
				if j < factors && r.out&(1<<j) == 0 || r.tries == 0 {
					continue
				}
				odds := 1 / math.Expm1(at[i]) // of a hit
				misses := float64(r.tries - r.hits)
				slope += misses*odds - float64(r.hits)
				bend += misses * odds * (1 + odds)
				room = min(room, at[i]-highest)
			}
			if j < factors {
				switch pull := 1 / usualLoss; {
				case x[j] > 0:
					slope -= pull
				case x[j] < 0:
					slope += pull
				case math.Abs(slope) <= pull:
					continue
				default:
					slope -= math.Copysign(pull, slope)
				}
			}
			step := min(max(slope/bend, -0.9*max(0, room), -0.5), 0.5)
			if j < factors && x[j] != 0 && (x[j]+step)*x[j] < 0 {
				step = -x[j] // not past the prior's edge at once
			}
			x[j] += step
			for i, r := range rows {
				if j == factors || r.out&(1<<j) != 0 {
					at[i] += step
				}
			}
			most = max(most, math.Abs(step))
		}
		if most < certain {
			break
		}
	}
	return math.Exp(-x[factors]), x[:factors]
}

// information on a factor's loss that the rows' tries have: the inverse of its variance, when it is out in half of them.
func information(rows []row) (sum float64) {
	for _, r := range rows {
		q := r.rate()
		sum += float64(r.tries) * q / (1 - q) / 4
	}
	return sum
}

// screens are the errors of a loss's logarithm that are had before something is put back, one after the other as long as it is not enough.
var screens = []float64{0.14, 0.08, 0.05}

// screenTries are had in any case: where nearly every try hits they tell more than the first of these errors wants, and cost next to nothing.
const screenTries = 200

// wanted is the share of the rate that a prediction must come to; a little more than what a test of it takes for kept.
const wanted = 0.93

// screen puts back what the rate needs most, after it was lost bit by bit: each of many elements may cost too little to be seen when it is
// left out, and all together most of the rate. One design measures all of them at once, since every try of it tells of every element. It is
// false while it waits.
func (r *reducer) screen() bool {
	factors := r.factors()
	var rows []uint64
	var recipes []*misstepv1.Recipe
	for _, out := range design(len(factors)) {
		if left := r.leaving(func(j int) bool { return out&(1<<j) != 0 }, factors); recipe.Runnable(left) {
			rows, recipes = append(rows, out), append(recipes, left)
		}
	}
	each := (screenTries + len(rows) - 1) / len(rows)
	back := 0
	order := make([]int, len(factors)) // the dearest first
	for j := range order {
		order[j] = j
	}
	for stage := 0; ; stage++ {
		if stage < len(screens) {
			r.plan.Doing = fmt.Sprintf("measures what each of %d elements is worth", len(factors))
			ok := false
			if each, ok = r.tryAll(recipes, each, 1/(screens[stage]*screens[stage])); !ok {
				return false
			}
			if r.cut { // it stays as it is: rarer than it could be, and small
				return true
			}
			data := []row{{counts: count(r.reference, r.least)}} // no later ones: what follows may not depend on them
			for i, recipe := range recipes {
				data = append(data, row{rows[i], count(r.arm("screen", recipe).results, each)})
			}
			_, losses := fit(data, len(factors))
			for j := range factors {
				factors[j].loss = losses[j]
			}
			slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(factors[j].loss, factors[i].loss) })
			back = max(back, needed(factors, order))
		} else { // no measure was sharp enough; in the end everything is back
			back = min(max(1, 2*back), len(order))
		}
		to := r.leaving(func(j int) bool { return slices.Index(order, j) >= back }, factors)
		r.plan.Doing = fmt.Sprintf("puts %d elements back", back)
		verdict := yes // with all of them it is the best recipe
		if back < len(order) {
			c := keepsWell
			if stage > 0 && stage < len(screens) {
				c = keepsMost
			}
			verdict = r.changed(to, c, halved)
		}
		switch verdict {
		case wait:
			return false
		case yes:
			r.recipe, r.removed = to, nil
			for j, f := range factors { // in the order in which they were left out, which they are left out in again
				if slices.Index(order, j) >= back {
					r.removed = append(r.removed, f.elements...)
					continue
				}
				for _, e := range f.elements {
					r.back[e.ID()] = f.loss - screens[min(stage, len(screens)-1)]
				}
			}
			return true
		case no:
			if r.cut {
				return true
			}
		}
	}
}

// needed is how many of the dearest must be back for the rate that is wanted.
func needed(factors []factor, order []int) int {
	kept := 1.0
	for n := len(order); n > 0; n-- {
		if kept *= factors[order[n-1]].keptAlone(); kept < wanted {
			return n
		}
	}
	return 0
}

// tryAll has every recipe tried as often as the others, until the design tells as much as is wanted. It returns how often that was.
func (r *reducer) tryAll(recipes []*misstepv1.Recipe, each int, wanted float64) (int, bool) {
	for {
		waits, data := false, []row{}
		most := 0
		for _, recipe := range recipes {
			a := r.arm("screen", recipe)
			if lacks := each - len(a.results); lacks > 0 && r.ask(a, lacks) {
				waits = true
			}
			data = append(data, row{counts: count(a.results, each)})
			most = max(most, len(a.results))
		}
		if waits {
			return each, false
		}
		has := information(data)
		if has >= wanted || most < each { // or no more can be had
			return each, true
		}
		each = max(each+1, int(math.Ceil(float64(each)*min(2, wanted/has))))
	}
}

// factors are what was left out, the methods as one.
func (r *reducer) factors() (out []factor) {
	methods := -1
	for _, e := range r.removed {
		switch {
		case e.Kind == "method" && methods >= 0, len(out) == mostFactors:
			i := methods
			if i < 0 {
				i = len(out) - 1
			}
			out[i].elements = append(out[i].elements, e)
			continue
		case e.Kind == "method":
			methods = len(out)
		}
		out = append(out, factor{elements: []recipe.Element{e}})
	}
	return out
}

// leaving gives the best recipe without some of the factors.
func (r *reducer) leaving(out func(int) bool, factors []factor) *misstepv1.Recipe {
	to := proto.CloneOf(r.best)
	for j, f := range factors {
		if out(j) {
			for _, e := range f.elements {
				e.Drop(to)
			}
		}
	}
	return to
}
