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

// realResult holds the measurements of one reproduction on real JVMs. All figures except the product's own come from fresh tries.
type realResult struct {
	Case string `json:"case"`
	Sort string `json:"sort"`
	reproduced
	Wanted []string `json:"wanted,omitempty"`
	// Hits and tries of the best recipe that was run and of the reproducer, alternately; those of the finding's recipe are in Rate.
	BestHits   int `json:"best_hits"`
	BestTries  int `json:"best_tries"`
	FinalHits  int `json:"final_hits"`
	FinalTries int `json:"final_tries"`
	// Removable elements of the reproducer, found by removing one at a time, out of Elements.
	Removable []string `json:"removable,omitempty"`
	Elements  int      `json:"elements"`
	// Ddmin is the number of tries that plain ddmin took; DdminEnded is false if it was stopped after more than three times the
	// reproducer's tries.
	Ddmin      int  `json:"ddmin"`
	DdminEnded bool `json:"ddmin_ended"`
	// Done is the last finished stage: "", "reproduced", "compared", "removed", "all".
	Done string `json:"done"`
}

// Stages of a measurement.
const (
	doneReproduced = "reproduced"
	doneCompared   = "compared"
	doneRemoved    = "removed"
	doneAll        = "all"
)

// kept returns the reproducer's rate divided by the best one's, with a 95 % interval computed on its logarithm (Katz and others,
// 1978).
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

// deviation returns the standard deviation of the ratio's logarithm.
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
	cells := []string{
		r.Case, r.Sort, bench.Figure(r.Rate), strings.Join(r.Kept, ", "), "-", "-", fmt.Sprint(r.search()), "-", "-",
		"-",
	}
	if len(r.Wanted) > 0 {
		cells[9] = map[bool]string{true: "right ", false: "wrong "}[slices.Equal(r.Affected, r.Wanted)] + fmt.Sprint(r.Affected)
	}
	if r.Done == doneReproduced {
		return cells
	}
	ratio, low, high := r.kept()
	cells[4] = fmt.Sprintf("%d/%d : %d/%d = %.2f (%.2f–%.2f)",
		r.FinalHits, r.FinalTries, r.BestHits, r.BestTries, ratio, low, high)
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

// runReal measures as much as the budget allows, resuming where an earlier run ended.
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

// errEnough stops a ddmin that has cost more than the goal allows.
var errEnough = errors.New("more than three times the reproducer's tries")

// measure measures one case. The error reports what could not be run, or is ctx's; the result holds what was finished before.
func (l *lab) measure(ctx context.Context, c realCase) (realResult, error) {
	r := realResult{Case: c.name, Sort: c.sort, Wanted: c.affected}
	digest, err := l.prepare(ctx, c)
	if err != nil {
		return r, err
	}
	if r.reproduced, err = l.reproduction(ctx, c, digest); err != nil || r.Failure != "" {
		return r, err
	}
	r.Done = doneReproduced
	signature, found, best, final := &misstepv1.Signature{}, &misstepv1.Recipe{}, &misstepv1.Recipe{}, &misstepv1.Recipe{}
	if err := errors.Join(read(r.Signature, signature), read(r.Found, found), read(r.Best, best),
		read(r.Final, final)); err != nil {
		return r, err
	}
	// Alternately, so that changes of the machine affect both.
	const (
		precise  = 0.09 // deviation of the ratio's logarithm: a true ratio of 1 is then measured below 0.8 once in 150 cases
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
	// Ddmin is given the best estimate of the rate of the finding's recipe. It is charged all its repetitions, although a test ends
	// once its verdict is foreseeable, and is stopped when it has cost more than the goal allows and a certain number of tries was
	// made.
	rate := r.Rate
	if proto.Equal(found, best) {
		rate = p
	}
	const mostRun = 500
	run := 0
	tries, hits := reproducetest.FixedTries(rate, sameErrors)
	_, err = reproducetest.PlainDdmin(found, reproduce.Elements(found, r.Methods, signature),
		func(recipe *misstepv1.Recipe) (keeps bool, err error) {
			if r.Ddmin += tries; r.Ddmin > 3*r.search() && run > mostRun {
				return false, errEnough
			}
			results, err := l.sample(ctx, c, digest, "ddmin", recipe, signature, func(results string) (ended bool) {
				h, n := tally(results)
				ended, keeps = foreseen(h, n, tries, hits)
				return ended || void(results)
			})
			run += len(results)
			return keeps, err
		})
	if err != nil && !errors.Is(err, errEnough) {
		return r, err
	}
	r.DdminEnded, r.Done = err == nil, doneAll
	return r, nil
}

// foreseen reports whether the verdict of a test, whether it will have so many hits in so many tries, is known after h hits in the
// first n: because the other tries cannot change it, or would with a probability of less than one in a million (W. Hoeffding's
// bound, Probability inequalities for sums of bounded random variables, 1963).
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

// sequential is A. Wald's test of a recipe's rate: Upper·p against Lower·p. After 250/p tries the more likely one is chosen.
func sequential(results string, p float64, e reproducetest.Errors) (certain, keeps bool) {
	const patience = 250
	p = min(p, 0.995) // a miss is always possible
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

// void reports whether most tries of a recipe are void.
func void(results string) bool {
	_, n := tally(results)
	voids := len(results) - n
	return voids > 3 && voids > 2*n
}

// tally counts the tries that were not void.
func tally(results string) (hits, tries int) {
	return strings.Count(results, "h"), len(results) - strings.Count(results, "v")
}

// realGoals returns the goals of the cases measured so far, and their table.
func realGoals(results []realResult) ([]bench.Goal, bench.Table) {
	t := bench.Table{
		Title: "real JVMs, fresh tries: the reproducer's hits against those of the best recipe that was run, with the 95 % " +
			"interval of the ratio; removable elements; tries of the search and of plain ddmin",
		Columns: []string{"case", "sort", "rate", "needed", "reproducer : best", "removable", "search", "ddmin", "share", "builds"},
	}
	all, failed, wrong := 0, 0, 0
	worst, highest, removable := math.NaN(), math.NaN(), math.NaN()
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
		if r.Done != doneReproduced {
			ratio, _, _ := r.kept()
			worst = least(worst, ratio)
		}
		if r.Done == doneRemoved || r.Done == doneAll {
			removable = -least(-removable, -float64(len(r.Removable)))
		}
		if r.Done == doneAll {
			all++
			highest = -least(-highest, -r.share())
			ours, plain = ours+r.search(), plain+r.Ddmin
		}
	}
	return []bench.Goal{
		{Name: "real cases measured to the end", Goal: 12, Measured: float64(all), Unit: "cases", AtLeast: true},
		{Name: "real cases without a reproducer", Goal: 0, Measured: float64(failed), Unit: "cases"},
		{Name: "real cases with other affected builds than the known ones", Goal: 0, Measured: float64(wrong), Unit: "cases"},
		{Name: "share of the best rate kept, worst real case", Goal: keeps, Measured: worst, Unit: "of 1", AtLeast: true},
		{Name: "removable elements, worst real case", Goal: 0, Measured: removable, Unit: "elements"},
		{
			Name: "tries against plain ddmin, all real cases", Goal: 1.0 / 3, Measured: float64(ours) / float64(plain),
			Unit: "of its tries",
		},
		{Name: "tries against plain ddmin, most expensive real case", Goal: 1.0 / 3, Measured: highest, Unit: "of its tries"},
	}, t
}

// least returns the smaller of a figure that may be unknown (NaN) and a known one.
func least(a, b float64) float64 {
	if math.IsNaN(a) {
		return b
	}
	return min(a, b)
}
