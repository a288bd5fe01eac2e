// Command compare measures how far misstep compare can be trusted: how often it calls two equal builds different, and how many
// pairs of trials it takes until it finds a planted change. It draws from the counts of real trials (testdata/README.md) and starts
// no JVM.
package main

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"misstep/app/compare"
	"misstep/bench"
	"misstep/internal/paired"
	"misstep/internal/testenv"
)

//go:embed testdata/trials.jsonl
var trials []byte

// Figures that are promised.
const (
	comparisons = 200
	factor      = 1.5
	// leastTrials of the pool show a share, for it to be planted: those of one recipe have as many.
	leastTrials = 14
	goalFalse   = 5.0  // per cent of comparisons
	goalFound   = 80.0 // per cent of comparisons, of the most frequent share in goalPairs
	goalPairs   = 20
)

// sizes are the pairs of a comparison: with two slots and these recipes, three minutes to an hour.
var sizes = []int{10, 20, 40, 80, 160}

func main() { bench.Main("compare", run) }

// row is what was measured with so many pairs. False are the comparisons of equal builds that were called different. Verdicts are
// those on a share that was planted, by share.
type row struct {
	Pairs    int                               `json:"pairs"`
	False    int                               `json:"false"`
	Verdicts map[string]map[paired.Verdict]int `json:"verdicts"`
}

func run(ctx context.Context, stdout io.Writer) error {
	budget, err := bench.Budget(os.Getenv("BUDGET"))
	if err != nil {
		return err
	}
	all, err := compare.ReadTrials(bytes.NewReader(trials))
	if err != nil {
		return err
	}
	start := time.Now()
	p := newPool(all)
	changes := p.changes(leastTrials)
	var rows []row
	for _, pairs := range sizes {
		if ctx.Err() != nil || time.Since(start) > budget {
			break
		}
		random := rand.New(rand.NewPCG(48, uint64(pairs)))
		r := row{Pairs: pairs, False: p.falseAlarms(random, comparisons, pairs), Verdicts: map[string]map[paired.Verdict]int{}}
		for _, c := range changes {
			r.Verdicts[c.String()] = p.found(random, comparisons/2, pairs, c, factor)
		}
		rows = append(rows, r)
		bench.Note("%d pairs: %d of %d equal builds called different", pairs, r.False, comparisons)
	}
	report := bench.Report{
		Name: "compare", Date: start, Budget: budget, Rows: rows,
		Reached: fmt.Sprintf("%d of %d sizes, drawn from %d trials of %d recipes", len(rows), len(sizes), len(all), len(p.recipes)),
		Goals:   goals(rows, changes), Tables: []bench.Table{falseTable(rows), foundTable(rows, changes)},
	}
	return report.Finish(stdout, filepath.Join(testenv.Root(), "build", "bench"))
}

func percent(n, of int) float64 { return 100 * float64(n) / float64(of) }

func goals(rows []row, changes []change) []bench.Goal {
	falsely, same, found := math.NaN(), math.NaN(), math.NaN()
	for _, r := range rows {
		falsely = math.Max(percent(r.False, comparisons), zero(falsely))
		for _, c := range changes {
			same = math.Max(percent(r.Verdicts[c.String()][paired.Same], comparisons/2), zero(same))
		}
		if r.Pairs == goalPairs && len(changes) > 0 {
			best := 0
			for _, c := range changes {
				best = max(best, r.Verdicts[c.String()][paired.Worse])
			}
			found = percent(best, comparisons/2)
		}
	}
	return []bench.Goal{
		{Name: "equal builds called different, at any size", Goal: goalFalse, Measured: falsely, Unit: "% of comparisons"},
		{Name: "a planted change called the same, at any size", Goal: goalFalse, Measured: same, Unit: "% of comparisons"},
		{
			Name: fmt.Sprintf("a change of %g times of the steadiest share found in %d pairs", factor, goalPairs), Goal: goalFound,
			Measured: found, Unit: "% of comparisons", AtLeast: true,
		},
	}
}

func zero(x float64) float64 {
	if math.IsNaN(x) {
		return 0
	}
	return x
}

func falseTable(rows []row) bench.Table {
	t := bench.Table{
		Title: "equal builds", Columns: []string{"pairs", "called different", "of"},
	}
	for _, r := range rows {
		t.Rows = append(t.Rows, []string{fmt.Sprint(r.Pairs), fmt.Sprint(r.False), fmt.Sprint(comparisons)})
	}
	return t
}

// foundTable has a row for each share that was planted.
func foundTable(rows []row, changes []change) bench.Table {
	t := bench.Table{
		Title:   fmt.Sprintf("%% of %d comparisons that find a change of %g times, by pairs", comparisons/2, factor),
		Columns: []string{"share"},
	}
	for _, r := range rows {
		t.Columns = append(t.Columns, fmt.Sprint(r.Pairs))
	}
	for _, c := range changes {
		cells := []string{c.String()}
		for _, r := range rows {
			cells = append(cells, bench.Figure(percent(r.Verdicts[c.String()][paired.Worse], comparisons/2)))
		}
		t.Rows = append(t.Rows, cells)
	}
	return t
}
