package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"misstep/bench"
	"misstep/coordinator/reproduce"
	"misstep/coordinator/reproduce/reproducetest"
	misstepv1 "misstep/proto/misstep/v1"
)

// realResult is what was measured of one reproduction on real JVMs. Everything in it is of fresh tries but the product's own figures.
type realResult struct {
	Case string `json:"case"`
	Sort string `json:"sort"`
	made
	Wanted []string `json:"wanted,omitempty"`
	// Hits of tries of the finding's recipe as it was confirmed is Rate; of the best recipe met and of the reproducer, in turns.
	BestHits   int `json:"best_hits"`
	BestTries  int `json:"best_tries"`
	FinalHits  int `json:"final_hits"`
	FinalTries int `json:"final_tries"`
	// Removable elements of the reproducer by exhaustive removal of one at a time, of Elements.
	Removable []string `json:"removable,omitempty"`
	Elements  int      `json:"elements"`
	// Ddmin is the number of tries that plain ddmin took; DdminEnded is false when it was stopped at more than three times ours.
	Ddmin      int  `json:"ddmin"`
	DdminEnded bool `json:"ddmin_ended"`
	// Done is how far it came: "", "reproduced", "compared", "removed", "all".
	Done string `json:"done"`
}

// Stages that are done.
const (
	doneMade     = "reproduced"
	doneCompared = "compared"
	doneRemoved  = "removed"
	doneAll      = "all"
)

// kept is the reproducer's rate over the best one's, with the 95 % interval of its logarithm (Katz and others, 1978).
func (r realResult) kept() (ratio, low, high float64) {
	a, n, b, m := float64(r.FinalHits), float64(r.FinalTries), float64(r.BestHits), float64(r.BestTries)
	if a == 0 || b == 0 {
		return 0, 0, math.Inf(1)
	}
	ratio = (a / n) / (b / m)
	const z = 1.96
	width := z * r.deviation()
	return ratio, ratio * math.Exp(-width), ratio * math.Exp(width)
}

// deviation of the ratio's logarithm.
func (r realResult) deviation() float64 {
	if r.FinalHits == 0 || r.BestHits == 0 {
		return math.Inf(1)
	}
	return math.Sqrt(1/float64(r.FinalHits) - 1/float64(r.FinalTries) + 1/float64(r.BestHits) - 1/float64(r.BestTries))
}

func (r realResult) share() float64 { return float64(r.search()) / float64(r.Ddmin) }

func (r realResult) row() []string {
	if r.Failure != "" {
		return []string{r.Case, r.Sort, r.Failure, "", "", "", "", "", "", ""}
	}
	cells := []string{r.Case, r.Sort, bench.Figure(r.Rate), strings.Join(r.Kept, ", "), "-", "-", fmt.Sprint(r.search()), "-", "-", "-"}
	if len(r.Wanted) > 0 {
		cells[9] = map[bool]string{true: "right ", false: "wrong "}[slices.Equal(r.Affected, r.Wanted)] + fmt.Sprint(r.Affected)
	}
	if r.Done == doneMade {
		return cells
	}
	ratio, low, high := r.kept()
	cells[4] = fmt.Sprintf("%d/%d : %d/%d = %.2f (%.2f–%.2f)", r.FinalHits, r.FinalTries, r.BestHits, r.BestTries, ratio, low, high)
	if r.Done == doneCompared {
		return cells
	}
	cells[5] = fmt.Sprintf("%d of %d %s", len(r.Removable), r.Elements, strings.Join(r.Removable, ", "))
	if r.Done == doneRemoved {
		return cells
	}
	cells[7], cells[8] = fmt.Sprint(r.Ddmin), fmt.Sprintf("%.2f", r.share())
	if !r.DdminEnded {
		cells[7], cells[8] = "> "+cells[7], "< "+cells[8]
	}
	return cells
}

// runReal measures what the budget lets it, going on where an earlier run ended.
func runReal(ctx context.Context, log io.Writer) (out []realResult, err error) {
	l, err := openLab(ctx, filepath.Join("build", "bench", "repro"), log)
	if err != nil {
		return nil, err
	}
	defer l.close()
	for _, c := range realCases() {
		if only := os.Getenv("CASES"); only != "" && !slices.Contains(strings.Split(only, ","), c.name) {
			continue
		}
		r, err := l.measure(ctx, c)
		if r.Done != "" || r.Failure != "" {
			out = append(out, r)
		}
		if err != nil && ctx.Err() != nil {
			fmt.Fprintf(log, "%s: the budget is used up after %q\n", c.name, r.Done)
			break
		}
		if err != nil {
			return out, err
		}
		fmt.Fprintln(log, strings.Join(r.row(), " | "))
	}
	return out, nil
}

// errEnough ends a ddmin that has cost more than the goal allows.
var errEnough = errors.New("more than three times ours")

// measure one case. The error is about what could not be run, or ctx's; what was done before it is in the result.
func (l *lab) measure(ctx context.Context, c realCase) (realResult, error) {
	r := realResult{Case: c.name, Sort: c.sort, Wanted: c.affected}
	digest, err := l.prepare(ctx, c)
	if err != nil {
		return r, err
	}
	if r.made, err = l.reproduction(ctx, c, digest); err != nil || r.Failure != "" {
		return r, err
	}
	r.Done = doneMade
	signature, found, best, final := &misstepv1.Signature{}, &misstepv1.Recipe{}, &misstepv1.Recipe{}, &misstepv1.Recipe{}
	if err := errors.Join(read(r.Signature, signature), read(r.Found, found), read(r.Best, best), read(r.Final, final)); err != nil {
		return r, err
	}
	// In turns, so that a machine that changes changes for both.
	const (
		precise  = 0.09 // of the ratio's logarithm: a ratio of 1 then comes out below 0.8 once in 150 cases
		mostHits = 250
	)
	for n := 10; ; n += 10 {
		portion := func(results string) bool { return len(results) >= n }
		ofBest, err := l.sample(ctx, c, digest, "best", best, signature, portion)
		if err != nil {
			return r, err
		}
		ofFinal, err := l.sample(ctx, c, digest, "final", final, signature, portion)
		if err != nil {
			return r, err
		}
		r.BestHits, r.BestTries = tally(ofBest)
		r.FinalHits, r.FinalTries = tally(ofFinal)
		if r.deviation() <= precise && n >= 40 || float64(n)*r.Rate >= mostHits {
			break
		}
	}
	r.Done = doneCompared
	if r.FinalHits == 0 {
		return r, nil
	}
	p := float64(r.BestHits) / float64(r.BestTries)
	removals := reproduce.Removals(final, signature)
	r.Elements = len(removals)
	for _, x := range removals {
		keeps := false
		_, err := l.sample(ctx, c, digest, "removal", x.Recipe, signature, func(results string) (certain bool) {
			certain, keeps = sequential(results, p, sameErrors)
			return certain || void(results)
		})
		if err != nil {
			return r, err
		}
		if keeps {
			r.Removable = append(r.Removable, x.Element.GetKind()+" "+x.Element.GetName())
		}
	}
	r.Done = doneRemoved
	// It is told the rate of the finding's recipe, as well as that is known, is charged all its repetitions though a test ends once its verdict is foreseen, and
	// stops where it has cost more than the goal allows and its tries take long.
	rate := r.Rate
	if proto.Equal(found, best) {
		rate = p
	}
	const mostMade = 500
	made := 0
	tries, hits := reproducetest.FixedTries(rate, sameErrors)
	_, err = reproducetest.PlainDdmin(found, reproduce.Elements(found, r.Methods, signature), func(recipe *misstepv1.Recipe) (keeps bool, err error) {
		if r.Ddmin += tries; r.Ddmin > 3*r.search() && made > mostMade {
			return false, errEnough
		}
		results, err := l.sample(ctx, c, digest, "ddmin", recipe, signature, func(results string) (ended bool) {
			h, n := tally(results)
			ended, keeps = foreseen(h, n, tries, hits)
			return ended || void(results)
		})
		made += len(results)
		return keeps, err
	})
	if err != nil && !errors.Is(err, errEnough) {
		return r, err
	}
	r.DdminEnded, r.Done = err == nil, doneAll
	return r, nil
}

// foreseen says whether a test of so many tries will have so many hits, after h hits of the first n: when the others can change nothing, or
// would by a chance of less than one in a million (W. Hoeffding's bound, Probability inequalities for sums of bounded random variables, 1963).
func foreseen(h, n, tries, hits int) (ended, keeps bool) {
	if h >= hits || n-h > tries-hits {
		return true, h >= hits
	}
	p, q := float64(hits)/float64(tries), float64(h)/float64(max(1, n))
	term := func(x, y float64) float64 {
		if x == 0 {
			return 0
		}
		return x * math.Log(x/y)
	}
	return float64(n)*(term(q, p)+term(1-q, 1-p)) > math.Log(1e6), q > p
}

// sequential is A. Wald's test of a recipe's rate: Upper·p against Lower·p. After 250/p tries the likelier is taken.
func sequential(results string, p float64, e reproducetest.Errors) (certain, keeps bool) {
	const patience = 250
	p = min(p, 0.995) // a miss is never impossible
	hit, miss := math.Log(e.Upper/e.Lower), math.Log((1-e.Upper*p)/(1-e.Lower*p))
	accept, reject := math.Log((1-e.Beta)/e.Alpha), math.Log(e.Beta/(1-e.Alpha))
	llr, n := 0.0, 0
	for _, letter := range results {
		switch letter {
		case 'h':
			llr, n = llr+hit, n+1
		case 'm':
			llr, n = llr+miss, n+1
		}
		if llr >= accept || llr <= reject || float64(n)*p >= patience {
			return true, llr > 0
		}
	}
	return false, false
}

// void says whether a recipe proves nothing again and again.
func void(results string) bool {
	_, n := tally(results)
	voids := len(results) - n
	return voids > 3 && voids > 2*n
}

// tally counts the tries that were not void.
func tally(results string) (hits, tries int) {
	return strings.Count(results, "h"), len(results) - strings.Count(results, "v")
}

// realGoals are what the cases measured so far say, with their table.
func realGoals(results []realResult) ([]bench.Goal, bench.Table) {
	t := bench.Table{
		Title:   "real JVMs, fresh tries: the reproducer's hits against those of the best recipe met, with the 95 % interval of the ratio; elements that can go; tries of the search and of plain ddmin",
		Columns: []string{"case", "sort", "rate", "needed", "reproducer : best", "removable", "search", "ddmin", "share", "builds"},
	}
	all, failed, wrong := 0, 0, 0
	worst, dearest, removable := math.NaN(), math.NaN(), math.NaN()
	ours, plain := 0, 0
	for _, r := range results {
		t.Rows = append(t.Rows, r.row())
		switch {
		case r.Failure != "":
			failed++
			continue
		case len(r.Wanted) > 0 && !slices.Equal(r.Affected, r.Wanted):
			wrong++
		}
		if r.Done != doneMade {
			ratio, _, _ := r.kept()
			worst = least(worst, ratio)
		}
		if r.Done == doneRemoved || r.Done == doneAll {
			removable = -least(-removable, -float64(len(r.Removable)))
		}
		if r.Done == doneAll {
			all++
			dearest = -least(-dearest, -r.share())
			ours, plain = ours+r.search(), plain+r.Ddmin
		}
	}
	return []bench.Goal{
		{Name: "real cases measured to the end", Goal: 12, Measured: float64(all), Unit: "cases", AtLeast: true},
		{Name: "real cases without a reproducer", Goal: 0, Measured: float64(failed), Unit: "cases"},
		{Name: "real cases with other builds affected than is known", Goal: 0, Measured: float64(wrong), Unit: "cases"},
		{Name: "rate kept of the best met, worst real case", Goal: keeps, Measured: worst, Unit: "of 1", AtLeast: true},
		{Name: "removable elements, worst real case", Goal: 0, Measured: removable, Unit: "elements"},
		{Name: "tries against plain ddmin, all real cases", Goal: 1.0 / 3, Measured: float64(ours) / float64(plain), Unit: "of its tries"},
		{Name: "tries against plain ddmin, dearest real case", Goal: 1.0 / 3, Measured: dearest, Unit: "of its tries"},
	}, t
}

// least of a figure that may be unknown, NaN, and one that is known.
func least(a, b float64) float64 {
	if math.IsNaN(a) {
		return b
	}
	return min(a, b)
}
