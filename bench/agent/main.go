// Command agent measures what the agent costs: time at each ratio of methods and rate of signals, one push and pop, answered checks
// a second, memory of a thread, and growth. PARTS=cost,growth measures these parts only, with the whole budget.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"misstep/agent"
	"misstep/bench"
	"misstep/bench/trial"
	"misstep/deploy/jdk"
	"misstep/recipe"
)

func main() { bench.Main("agent", run) }

func run(ctx context.Context, stdout io.Writer) error {
	budget, err := bench.Budget(os.Getenv("BUDGET"))
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "misstep-bench-agent-")
	if err != nil {
		return fmt.Errorf("make a folder for the runs: %w", err)
	}
	defer os.RemoveAll(dir)
	bed, err := trial.Open(".", dir)
	if err != nil {
		return err
	}
	on, ok := bed.JDK(25)
	if !ok || !on.HasCompiler {
		return errors.New("the catalogue has no JDK 25 with a compiler; fill it with make catalogue")
	}
	start := time.Now()
	report := bench.Report{Name: "agent", Date: start, Budget: budget}
	rows := map[string]any{"jdk": on.Version}
	var reached []string
	add := func(name string, row any, done string, goals []bench.Goal, tables ...bench.Table) {
		rows[name], reached = row, append(reached, done)
		report.Goals, report.Tables = append(report.Goals, goals...), append(report.Tables, tables...)
	}
	err = bench.Measure(ctx, []bench.Part{
		{Name: "threads", Share: 0.15, Measure: func(ctx context.Context, until time.Time) error {
			t, err := measureThreads(ctx, bed, on, until)
			if err == nil {
				add("threads", t, fmt.Sprintf("%d pairs", len(t.Pair)), t.goals())
			}
			return err
		}},
		{Name: "rate", Share: 0.15, Measure: func(ctx context.Context, until time.Time) error {
			rates, err := measureRate(ctx, bed, on, until)
			if err == nil {
				goal := bench.Goal{
					Name: "answered checks in signal handlers", Goal: 5000, Measured: best(rates), Unit: "a second",
					AtLeast: true,
				}
				add("rate", rates, fmt.Sprintf("%d runs for the rate", len(rates)), []bench.Goal{goal}, rateTable(rates))
			}
			return err
		}},
		{Name: "cost", Share: 0.45, Measure: func(ctx context.Context, until time.Time) error {
			costs, err := measureCost(ctx, bed, on, until)
			if err == nil {
				add("cost", costs, fmt.Sprintf("%d rounds of costs", costs.Rounds), costs.goals(), costs.table())
			}
			return err
		}},
		{Name: "growth", Share: 0.25, Measure: func(ctx context.Context, until time.Time) error {
			growth, err := measureGrowth(ctx, bed, on, until)
			if err == nil {
				add("growth", growth, fmt.Sprintf("%v of growth", growth.reached().Round(time.Second)), []bench.Goal{growth.goal()},
					growth.table())
			}
			return err
		}},
	}, os.Getenv("PARTS"), budget)
	if err != nil {
		return err
	}
	report.Rows = rows
	report.Reached = fmt.Sprintf("%s, in %v", strings.Join(reached, ", "), time.Since(start).Round(time.Second))
	return report.Finish(stdout, "build/bench")
}

// rate is how many asynchronous checks one run answered.
type rate struct {
	Workload string
	Interval time.Duration
	// Sent, answered and lost or refused signals, over the run's Seconds and CPU seconds of all threads.
	Sent, Answered, Void uint64
	Seconds, CPU         float64
}

func (r rate) perSecond() float64 { return float64(r.Answered) / r.Seconds }

// measureRate requests as many samples as possible, from workloads with several threads.
func measureRate(ctx context.Context, bed *trial.Bed, on jdk.Entry, until time.Time) ([]rate, error) {
	var all []rate
	for i := 0; i == 0 || ctx.Err() == nil && time.Now().Before(until); i++ {
		for _, workload := range []string{"h2", "forkjoin"} {
			for _, interval := range []time.Duration{time.Millisecond, 100 * time.Microsecond, 50 * time.Microsecond} {
				r, err := bed.Run(ctx, trial.Spec{
					JDK: on, Workload: workload, Repetitions: 1,
					Agent: &agent.Options{
						Seed: uint64(i), Ratio: 1,
						Checks: map[string]float64{recipe.AsgctShadow: 1, recipe.Liveness: 1}, Interval: interval, Jitter: 0.1,
					},
				}, nil)
				if err != nil {
					return nil, err
				}
				if r.Failure != "" {
					return nil, fmt.Errorf("measure the rate of samples: %s", r.Failure)
				}
				var void uint64
				for _, n := range r.Check(recipe.AsgctShadow).Void {
					void += n
				}
				all = append(all, rate{
					workload, interval, r.Status.Sent, r.Status.Answered, void, r.Wall.Seconds(),
					r.CPU.Seconds(),
				})
			}
		}
	}
	return all, nil
}

// best returns the median over the repetitions of the workload and interval with the most answers.
func best(all []rate) float64 {
	by := map[string][]float64{}
	for _, r := range all {
		key := r.Workload + r.Interval.String()
		by[key] = append(by[key], r.perSecond())
	}
	most := 0.0
	for _, rates := range by {
		most = max(most, bench.Median(rates))
	}
	return most
}

func rateTable(all []rate) bench.Table {
	t := bench.Table{
		Title:   "answered checks in signal handlers (a run's whole time, its start included)",
		Columns: []string{"workload", "interval", "sent", "answered", "void", "seconds", "CPU seconds", "a second", "a CPU second"},
	}
	for _, r := range all {
		t.Rows = append(t.Rows, []string{
			r.Workload, r.Interval.String(), fmt.Sprint(r.Sent), fmt.Sprint(r.Answered), fmt.Sprint(r.Void),
			bench.Figure(r.Seconds), bench.Figure(r.CPU),
			bench.Figure(r.perSecond()), bench.Figure(float64(r.Answered) / r.CPU),
		})
	}
	return t
}

// variant is one way to run a workload.
type variant struct {
	name  string
	agent *agent.Options // nil: none
}

func variants() []variant {
	entry := func(share float64) map[string]float64 {
		return map[string]float64{recipe.GstAsgct: share, recipe.ShadowGst: share, recipe.Liveness: 1}
	}
	sampled := func(interval time.Duration) *agent.Options {
		checks := entry(0.001)
		checks[recipe.AsgctShadow] = 1
		return &agent.Options{Ratio: 1, Checks: checks, Interval: interval, Jitter: 0.1}
	}
	alive := map[string]float64{recipe.Liveness: 1}
	return []variant{
		{"no agent", nil},
		{"ratio 0", &agent.Options{Ratio: 0, Checks: alive}},
		{"ratio 0.01", &agent.Options{Ratio: 0.01, Checks: entry(0.001)}},
		{"ratio 0.1", &agent.Options{Ratio: 0.1, Checks: entry(0.001)}},
		{bareName, &agent.Options{Ratio: 1, Checks: instrumentedOnly}},
		{fullName, &agent.Options{Ratio: 1, Checks: entry(0.001)}},
		{"ratio 1, 1 ms", sampled(time.Millisecond)},
		{"ratio 1, 0.1 ms", sampled(100 * time.Microsecond)},
	}
}

// Variants that have goals: every method instrumented, without and with checks at entries.
const (
	bareName = "ratio 1, no checks"
	fullName = "ratio 1"
)

// costs are the samples of all variants of each workload.
type costs struct {
	Rounds int
	Cells  map[string]map[string]*samples // by workload and variant
}

// samples are the figures of one workload in one variant: seconds, CPU seconds, resident MiB, checks a CPU second.
type samples struct{ Wall, CPU, RSS, Checks []float64 }

// withGoals are the workloads that have goals; they are measured first.
var withGoals = []string{"javac", "h2"}

// measureCost runs all variants of a workload in turn, repeatedly, so that the machine's load affects all of them alike.
func measureCost(ctx context.Context, bed *trial.Bed, on jdk.Entry, until time.Time) (*costs, error) {
	c := &costs{Cells: map[string]map[string]*samples{}}
	all, err := bed.Workloads(on)
	if err != nil {
		return nil, err
	}
	var others []string
	for _, w := range all {
		if !slices.Contains(withGoals, w.Name) {
			others = append(others, w.Name)
		}
	}
	// Those with a goal are measured three times a round, at both ends and in the middle: a single run would prove little.
	names := slices.Concat(withGoals, others[:len(others)/2], withGoals, others[len(others)/2:], withGoals)
	for ; c.Rounds == 0 || ctx.Err() == nil && time.Now().Before(until); c.Rounds++ {
		for i, workload := range names {
			for _, v := range variants() {
				if (c.Rounds > 0 || i >= len(withGoals)) && !time.Now().Before(until) {
					return c, nil
				}
				spec := trial.Spec{JDK: on, Workload: workload, Repetitions: 1, Agent: v.agent}
				r, err := bed.Run(ctx, spec, nil)
				if err != nil {
					return nil, err
				}
				if r.Failure != "" {
					return nil, fmt.Errorf("measure %s of %s: %s", v.name, workload, r.Failure)
				}
				if c.Cells[workload] == nil {
					c.Cells[workload] = map[string]*samples{}
				}
				s := c.Cells[workload][v.name]
				if s == nil {
					s = &samples{}
					c.Cells[workload][v.name] = s
				}
				var checks uint64
				for _, count := range r.Status.Checks {
					checks += count.Total
				}
				s.Wall, s.CPU = append(s.Wall, r.Wall.Seconds()), append(s.CPU, r.CPU.Seconds())
				s.RSS = append(s.RSS, float64(r.MaxRSS)/(1<<20))
				s.Checks = append(s.Checks, float64(checks)/r.CPU.Seconds())
			}
		}
	}
	return c, nil
}

func (c *costs) table() bench.Table {
	t := bench.Table{
		Title: "cost, side by side: medians (quartiles), relative to no agent",
		Columns: []string{
			"workload", "variant", "runs", "seconds", "times", "CPU seconds", "times", "checks a CPU second",
			"MiB resident",
		},
	}
	spread := func(v []float64) string {
		return fmt.Sprintf("%s (%s–%s)", bench.Figure(bench.Median(v)), bench.Figure(bench.Quantile(v, 0.25)),
			bench.Figure(bench.Quantile(v, 0.75)))
	}
	for _, workload := range slices.Sorted(maps.Keys(c.Cells)) {
		base := c.Cells[workload]["no agent"]
		for _, v := range variants() {
			s := c.Cells[workload][v.name]
			if s == nil {
				continue
			}
			t.Rows = append(t.Rows, []string{
				workload, v.name, fmt.Sprint(len(s.Wall)), spread(s.Wall),
				bench.Figure(bench.Median(s.Wall) / bench.Median(base.Wall)),
				spread(s.CPU), bench.Figure(bench.Median(s.CPU) / bench.Median(base.CPU)), bench.Figure(bench.Median(s.Checks)),
				bench.Figure(bench.Median(s.RSS)),
			})
		}
	}
	return t
}

// goals apply to CPU time: on a shared machine it shows what the agent adds, while wall time depends on other processes.
func (c *costs) goals() []bench.Goal {
	var goals []bench.Goal
	for _, workload := range withGoals {
		for _, v := range []struct{ variant, what string }{{bareName, ""}, {fullName, " and entry checks at 0.001"}} {
			base, full := c.Cells[workload]["no agent"], c.Cells[workload][v.variant]
			goals = append(goals, bench.Goal{
				Name: "full instrumentation of " + workload + v.what + ", CPU time", Goal: 3,
				Measured: bench.Median(full.CPU) / bench.Median(base.CPU), Unit: "times",
			})
		}
	}
	return goals
}
