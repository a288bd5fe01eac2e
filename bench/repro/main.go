// Command repro measures what reproducing promises: that the reproducer keeps the rate, has no removable element, and costs a third
// of plain delta debugging; that a noisy bisection names the right builds; and both on real JVMs for bugs that are known.
//
// Models are bugs whose rate is a known function of the recipe, so that the result can be checked against the truth. The cases on
// real JVMs take hours: their measurements are kept in build/bench/repro.cases.jsonl, and a later run resumes from there. MODELS=0
// skips the models, CASES=NAME,… measures these cases only.
package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"time"

	"misstep/bench"
	"misstep/coordinator/reproduce"
	"misstep/coordinator/reproduce/reproducetest"
	misstepv1 "misstep/proto/misstep/v1"
)

// Plain ddmin tests each configuration with a fixed number of repetitions. With sameErrors it loses the rate, or keeps removable
// elements, about as rarely as the reproducer; with wideErrors, which distinguish a loss of a half from one of a fifth, it is
// cheaper and loses the rate of every bug to which many elements contribute a little.
var (
	sameErrors = reproducetest.Errors{Upper: 1, Lower: 0.75, Alpha: 0.04, Beta: 0.02}
	wideErrors = reproducetest.Errors{Upper: 0.8, Lower: 0.4, Alpha: 0.03, Beta: 0.05}
)

const (
	// keeps is the share of the best observed rate that a reproducer keeps.
	keeps = 0.8
	// removableFrom is the share of the best rate that must remain without an element for it to count as removable. Between the two
	// both are right: a smaller reproducer or one that hits more often.
	removableFrom = 0.9
	// rounding is the tolerance for rates that are products of shares.
	rounding = 1e-9
)

// seeds is the number of seeds of each model, if the budget allows.
const seeds = 10

// caseResult is one reproduction of a model.
type caseResult struct {
	Case string `json:"case"`
	Sort string `json:"sort"` // "model"
	Seed uint64 `json:"seed"`
	// First, Best and Final are true rates: of the finding's recipe, of the best recipe that was run, and of the reproducer.
	First float64 `json:"first"`
	Best  float64 `json:"best"`
	Final float64 `json:"final"`
	// Removable elements of the reproducer, found by removing each.
	Removable []string `json:"removable"`
	Kept      int      `json:"kept"`
	// Tries by step.
	Tries map[string]int `json:"tries"`
	// Ddmin with sameErrors, Wide with wideErrors.
	Ddmin   plainResult `json:"ddmin"`
	Wide    plainResult `json:"wide"`
	Failure string      `json:"failure,omitempty"`
}

// plainResult is one run of plain ddmin, which is given the true rate and neither confirms nor amplifies.
type plainResult struct {
	Tries int `json:"tries"`
	// Final is the true rate of the result.
	Final     float64  `json:"final"`
	Removable []string `json:"removable"`
}

// wrong reports whether a result lost the rate or has removable elements.
func wrong(final, rate float64, removable []string) bool {
	return final < keeps*rate-rounding || len(removable) > 0
}

// search returns the number of tries up to the minimised recipe.
func (c caseResult) search() int {
	return c.Tries[reproduce.StepConfirm] + c.Tries[reproduce.StepAmplify] + c.Tries[reproduce.StepMinimise]
}

// share returns the tries relative to those of plain ddmin.
func (c caseResult) share(of plainResult) float64 { return float64(c.search()) / float64(of.Tries) }
func (c caseResult) ratio() float64               { return c.Final / c.Best }

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "repro:", err)
		os.Exit(1)
	}
}

func run() error {
	budget, err := bench.Budget(os.Getenv("BUDGET"))
	if err != nil {
		return err
	}
	begun := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), budget)
	defer cancel()
	report := bench.Report{Name: "repro", Date: begun, Budget: budget}

	// At most half of the budget for the models, so that time is left for real JVMs.
	var cases []caseResult
	rounds := 0
	for seed := uint64(1); os.Getenv("MODELS") != "0" && seed <= seeds && time.Since(begun) < budget/2; seed++ {
		for i, m := range reproducetest.Models() {
			cases = append(cases, runModel(m, seed, uint64(i)))
		}
		rounds++
	}
	right, histories, perHistory := bisections()
	real, err := runReal(ctx, os.Stderr)
	if err != nil {
		return err
	}
	report.Reached = fmt.Sprintf("%d models with %d seeds each, %d histories, %d cases on real JVMs", len(reproducetest.Models()),
		rounds, histories, len(real))
	report.Goals, report.Tables = judge(cases, right, histories, perHistory, real)
	report.Rows = struct {
		Models []caseResult `json:"models"`
		Real   []realResult `json:"real"`
	}{cases, real}
	if err := report.Print(os.Stdout); err != nil {
		return err
	}
	return report.Write("build/bench")
}

func runModel(m reproducetest.Model, seed, stream uint64) caseResult {
	d := &reproducetest.Driver{Model: m, Rand: rand.New(rand.NewPCG(seed, stream))}
	plan := d.Run(reproducetest.Start(m, seed))
	c := caseResult{
		Case: m.Name, Sort: "model", Seed: seed, First: m.Rate(m.Recipe), Best: d.Best, Tries: map[string]int{},
		Failure: plan.Failure,
	}
	for _, s := range plan.Steps {
		c.Tries[s.GetName()] = int(s.GetTries())
	}
	if p := plan.Reproducer; p != nil {
		final := p.GetRecipe()
		if !p.GetSeedMatters() {
			final.Seed = 0
		}
		c.Final, c.Kept = m.Rate(final), len(p.GetKept())
		c.Removable = removable(m, final, c.Best)
	}
	c.Ddmin, c.Wide = runPlain(m, sameErrors, seed, stream), runPlain(m, wideErrors, seed, stream)
	return c
}

// removable returns the removable elements of a recipe, found by removing each.
func removable(m reproducetest.Model, recipe *misstepv1.Recipe, best float64) (out []string) {
	for _, r := range reproduce.Removals(recipe, reproducetest.Signature()) {
		if m.Rate(r.Recipe) >= removableFrom*best-rounding {
			out = append(out, r.Element.GetKind()+" "+r.Element.GetName())
		}
	}
	return out
}

func runPlain(m reproducetest.Model, e reproducetest.Errors, seed, stream uint64) plainResult {
	d := &reproducetest.Driver{Model: m, Rand: rand.New(rand.NewPCG(seed, stream))}
	final := reproducetest.Ddmin(d, m.Recipe, e)
	return plainResult{Tries: d.Tries, Final: m.Rate(final), Removable: removable(m, final, m.Rate(m.Recipe))}
}

// bisections returns for how many random histories the right builds were named, and the cost in tries times the rate.
func bisections() (right, histories int, cost float64) {
	r := rand.New(rand.NewPCG(200, 1))
	const n = 200
	for range n {
		h := reproducetest.RandomHistory(r)
		_, tries, ok := h.Bisect(r, 0.98)
		if ok {
			right++
		}
		cost += float64(tries) * h.P / n
	}
	return right, n, cost
}

func judge(cases []caseResult, right, histories int, perHistory float64, real []realResult) ([]bench.Goal, []bench.Table) {
	worst, distinct := math.Inf(1), map[string]bool{}
	ours, plain, highest := 0, 0, 0.0
	lost, excess, wrongPlain, wrongWide := 0, 0, 0, 0
	one := func(b bool) int {
		if b {
			return 1
		}
		return 0
	}
	table := bench.Table{
		Title: "models: true rates of the finding's recipe, of the best recipe that was run and of the reproducer; tries up " +
			"to the minimised recipe",
		Columns: []string{
			"case", "seed", "first", "best", "final", "kept/best", "needed", "removable", "confirm", "amplify",
			"minimise", "ddmin", "share",
		},
	}
	for _, c := range cases {
		worst = min(worst, c.ratio())
		lost += one(c.ratio() < keeps-rounding)
		excess += len(c.Removable)
		ours, plain = ours+c.search(), plain+c.Ddmin.Tries
		highest = max(highest, c.share(c.Ddmin))
		wrongPlain += one(wrong(c.Ddmin.Final, c.First, c.Ddmin.Removable))
		wrongWide += one(wrong(c.Wide.Final, c.First, c.Wide.Removable))
		distinct[c.Case] = true
		table.Rows = append(table.Rows, []string{
			c.Case, fmt.Sprint(c.Seed), bench.Figure(c.First), bench.Figure(c.Best), bench.Figure(c.Final),
			fmt.Sprintf("%.2f", c.ratio()), fmt.Sprint(c.Kept),
			fmt.Sprint(len(c.Removable)), fmt.Sprint(c.Tries[reproduce.StepConfirm]), fmt.Sprint(c.Tries[reproduce.StepAmplify]),
			fmt.Sprint(c.Tries[reproduce.StepMinimise]), fmt.Sprint(c.Ddmin.Tries), fmt.Sprintf("%.2f", c.share(c.Ddmin)),
		})
	}
	wrongs, removed := 0, float64(excess)
	for _, c := range cases {
		wrongs += one(wrong(c.Final, c.Best, c.Removable))
	}
	if len(cases) == 0 {
		worst, removed, highest = math.NaN(), math.NaN(), math.NaN()
	}
	goals := []bench.Goal{
		{Name: "models", Goal: 12, Measured: float64(len(distinct)), Unit: "cases", AtLeast: true},
		{Name: "share of the best rate kept, worst model", Goal: keeps, Measured: worst, Unit: "of 1", AtLeast: true},
		{Name: "removable elements, all models", Goal: 0, Measured: removed, Unit: "elements"},
		{
			Name: "tries against plain ddmin with the same errors, all models", Goal: 1.0 / 3,
			Measured: float64(ours) / float64(plain), Unit: "of its tries",
		},
		{
			Name: "tries against plain ddmin with the same errors, most expensive run", Goal: 1.0 / 3, Measured: highest,
			Unit: "of its tries",
		},
		{
			Name: "histories with the right builds", Goal: 0.95, Measured: float64(right) / float64(histories), Unit: "of 200",
			AtLeast: true,
		},
	}
	more, realTable := realGoals(real)
	goals = append(goals, more...)
	return goals, []bench.Table{table, {
		Title:   "results that lost the rate or have a removable element",
		Columns: []string{"runs", "ours", "ddmin, same errors", "ddmin, wide errors"},
		Rows: [][]string{{
			fmt.Sprint(len(cases)), fmt.Sprintf("%d (%d lost)", wrongs, lost), fmt.Sprint(wrongPlain),
			fmt.Sprint(wrongWide),
		}},
	}, {
		Title: "bisection over simulated histories", Columns: []string{"histories", "right", "tries times rate, mean"},
		Rows: [][]string{{fmt.Sprint(histories), fmt.Sprint(right), bench.Figure(perHistory)}},
	}, realTable}
}
