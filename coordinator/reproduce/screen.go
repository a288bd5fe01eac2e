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

// factor is something that was removed and may be restored: an element, or several that are treated as one.
type factor struct {
	elements []recipe.Element
	loss     float64 // estimate of minus the logarithm of the share of the rate that is left without it
}

// keptAlone returns the share of the rate that is left when only f is removed.
func (f factor) keptAlone() float64 { return math.Exp(-f.loss) }

// row is one recipe of a factorial design with its tries. Bit j of out is set when factor j is removed.
type row struct {
	out uint64
	counts
}

// maxFactors of a design, since a row has 64 bits.
const maxFactors = 63

// design returns the rows of a factorial design that separates each factor's effect from those of all others: the columns of R.
// Plackett's and J. Burman's designs (The design of optimum multifactorial experiments, 1946) with a power of two of rows, and
// their complements (a foldover), so that the interaction of two factors is not mistaken for a third. Each factor is removed in
// half of the rows. The first row removes nothing.
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

// fit returns the base rate p and the loss of each factor that fit the rows best when rates multiply: row i has the rate p·exp(-Σ
// losses of the removed factors). Most factors have no effect, so each loss is shrunk towards 0 by a double exponential prior of
// mean usualLoss. The log-likelihood is concave in the losses, so coordinate ascent reaches its maximum.
func fit(rows []row, factors int) (base float64, losses []float64) {
	const (
		usualLoss = 0.1
		rounds    = 60
		tolerance = 1e-4
		highest   = 1e-3 // minus the logarithm of the highest rate
	)
	x := make([]float64, factors+1) // the last is minus the logarithm of the base rate, which has no prior
	var whole counts                // the first estimate is the rate where nothing is removed
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
			// Newton's step in this coordinate, kept small and within the range in which all rates stay below 1.
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
				step = -x[j] // not across the prior's kink at 0 in one step
			}
			x[j] += step
			for i, r := range rows {
				if j == factors || r.out&(1<<j) != 0 {
					at[i] += step
				}
			}
			most = max(most, math.Abs(step))
		}
		if most < tolerance {
			break
		}
	}
	return math.Exp(-x[factors]), x[:factors]
}

// information returns the information of the rows' tries about a factor's loss, which is the inverse of its variance, when the
// factor is removed in half of them.
func information(rows []row) (sum float64) {
	for _, r := range rows {
		q := r.rate()
		sum += float64(r.tries) * q / (1 - q) / 4
	}
	return sum
}

// screenErrors are the standard errors of a loss that are reached before elements are restored: the next one when restoring by the
// one before did not suffice.
var screenErrors = []float64{0.14, 0.08, 0.05}

// screenTries are made in any case: where nearly every try hits, they are more precise than the first of these errors, and cheap.
const screenTries = 200

// wantedShare is the share of the rate that the prediction for the restored elements must reach; slightly more than what a test
// accepts as kept.
const wantedShare = 0.93

// screen restores what the rate needs most, after it was lost bit by bit: each of many elements may cost too little to be noticed
// when it is removed, and all together most of the rate. One design measures all of them at once, since each of its tries is
// informative about every element. It returns false while results are missing.
func (r *reducer) screen() bool {
	factors := r.factors()
	var rows []uint64
	var recipes []*misstepv1.Recipe
	for _, out := range design(len(factors)) {
		if left := r.initialWithout(func(j int) bool { return out&(1<<j) != 0 }, factors); recipe.Runnable(left) {
			rows, recipes = append(rows, out), append(recipes, left)
		}
	}
	each := (screenTries + len(rows) - 1) / len(rows)
	restored := 0                      // the first so many in order are to be restored
	order := make([]int, len(factors)) // the greatest loss first
	for j := range order {
		order[j] = j
	}
	for stage := 0; ; stage++ {
		if stage < len(screenErrors) {
			r.plan.Doing = fmt.Sprintf("measures how much each of %d elements contributes", len(factors))
			ok := false
			if each, ok = r.tryEachRow(recipes, each, 1/(screenErrors[stage]*screenErrors[stage])); !ok {
				return false
			}
			if r.cut { // the recipe stays small, though it hits less often than it could
				return true
			}
			data := []row{{counts: count(r.reference, r.referenceTries)}} // not the later tries: the result must not depend on them
			for i, recipe := range recipes {
				data = append(data, row{rows[i], count(r.arm("screen", recipe).results, each)})
			}
			_, losses := fit(data, len(factors))
			for j := range factors {
				factors[j].loss = losses[j]
			}
			slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(factors[j].loss, factors[i].loss) })
			restored = max(restored, lossesToRestore(factors, order))
		} else { // no measurement was precise enough; in the end everything is restored
			restored = min(max(1, 2*restored), len(order))
		}
		to := r.initialWithout(func(j int) bool { return slices.Index(order, j) >= restored }, factors)
		r.plan.Doing = fmt.Sprintf("restores %d elements", restored)
		verdict := yes // with all of them it is the initial recipe
		if restored < len(order) {
			c := keepsWell
			if stage > 0 && stage < len(screenErrors) {
				c = keepsMost
			}
			verdict = r.testChange(to, c, halved)
		}
		switch verdict {
		case wait:
			return false
		case yes:
			r.current, r.removed = to, nil
			for j, f := range factors { // in the order in which they were removed, in which they will be removed again
				if slices.Index(order, j) >= restored {
					r.removed = append(r.removed, f.elements...)
					continue
				}
				for _, e := range f.elements {
					r.restoredLoss[e.ID()] = f.loss - screenErrors[min(stage, len(screenErrors)-1)]
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

// lossesToRestore returns how many of the factors in order, the greatest loss first, must be restored to reach wantedShare.
func lossesToRestore(factors []factor, order []int) int {
	kept := 1.0
	for n := len(order); n > 0; n-- {
		if kept *= factors[order[n-1]].keptAlone(); kept < wantedShare {
			return n
		}
	}
	return 0
}

// tryEachRow requests equally many tries of every recipe until the design has the wanted information. It returns the number of
// tries of each, and false while results are missing.
func (r *reducer) tryEachRow(recipes []*misstepv1.Recipe, each int, wanted float64) (int, bool) {
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
		if has >= wanted || most < each { // or no more tries are possible
			return each, true
		}
		each = max(each+1, int(math.Ceil(float64(each)*min(2, wanted/has))))
	}
}

// factors returns what was removed, the methods as one factor.
func (r *reducer) factors() (out []factor) {
	methods := -1
	for _, e := range r.removed {
		switch {
		case e.Kind == "method" && methods >= 0, len(out) == maxFactors:
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

// initialWithout returns the initial recipe without the factors that out selects.
func (r *reducer) initialWithout(out func(int) bool, factors []factor) *misstepv1.Recipe {
	to := proto.CloneOf(r.initial)
	for j, f := range factors {
		if out(j) {
			for _, e := range f.elements {
				e.Drop(to)
			}
		}
	}
	return to
}
