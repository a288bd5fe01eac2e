package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"misstep/agent"
	"misstep/bench"
	"misstep/bench/trial"
	"misstep/deploy/jdk"
	"misstep/internal/hserr"
	"misstep/internal/interval"
	"misstep/known"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/schedule"
	"misstep/triage"
)

// perturbedTime is how long a trial with a perturbation may take, its JVM's start included.
const perturbedTime = 4 * time.Second

// perturbedTriggers are those of the calibration, and one for families that it does not look for.
var perturbedTriggers = append(slices.Clone(recipes), trigger{
	bug: "MISSTEP-frame-not-set-up", workload: "stubs", checks: sampled, interval: 200 * time.Microsecond, has: everyJDK,
})

// perturbation is how often a bug showed in one workload under one strategy of the agent.
type perturbation struct {
	Workload, Bug, Strategy string
	Trials, Hits            uint64
	// First are the seconds of each trial with a hit until its first one.
	First []float64
}

// perturbations counts what showed under each strategy.
type perturbations struct {
	Cells  []*perturbation
	Trials int
	// Idle counts trials in which the perturbation took no decision: they prove nothing and are in no cell.
	Idle int

	trials map[[2]string]uint64 // by workload and strategy
}

func (p *perturbations) cell(workload, bug, strategy string) *perturbation {
	i := slices.IndexFunc(p.Cells, func(c *perturbation) bool {
		return c.Workload == workload && c.Bug == bug && c.Strategy == strategy
	})
	if i < 0 {
		i = len(p.Cells)
		p.Cells = append(p.Cells, &perturbation{Workload: workload, Bug: bug, Strategy: strategy})
	}
	return p.Cells[i]
}

// measure runs trials in rounds: in a round each trigger has one JDK and one seed, and one trial under each strategy, so that
// strategies are compared on equal terms wherever the budget ends. SEED begins with another round.
func (p *perturbations) measure(ctx context.Context, bed *trial.Bed, until time.Time) error {
	first, err := strconv.Atoi(cmp.Or(os.Getenv("SEED"), "1"))
	if err != nil {
		return fmt.Errorf("SEED=%s: expected an integer", os.Getenv("SEED"))
	}
	p.trials = map[[2]string]uint64{}
	for round := first; ; round++ {
		for i := range perturbedTriggers {
			r := perturbedTriggers[(i+round)%len(perturbedTriggers)] // a short budget ends elsewhere in each round
			jdks := slices.DeleteFunc(slices.Clone(bed.JDKs), func(j jdk.Entry) bool {
				return !r.has(j) || !bed.Runs(j, r.workload)
			})
			if len(jdks) == 0 {
				continue
			}
			for _, s := range schedule.Strategies() {
				if time.Until(until) < perturbedTime || ctx.Err() != nil {
					return nil
				}
				if err := p.try(ctx, bed, r, jdks[round%len(jdks)], s.Name, uint64(round)); err != nil {
					return err
				}
			}
		}
	}
}

// try runs one trial to its end or for perturbedTime, and notes when each bug showed first.
func (p *perturbations) try(ctx context.Context, bed *trial.Bed, r trigger, on jdk.Entry, strategy string, seed uint64) error {
	options := &agent.Options{
		Seed: seed, Ratio: cmp.Or(r.ratio, 1), Checks: r.checks, Interval: r.interval, Jitter: 0.5, Guesses: r.guesses,
	}
	if strategy != "none" {
		plan, err := schedule.Perturbation{Strategy: strategy, Seed: seed}.Plan()
		if err != nil {
			return err
		}
		options.Plan = filepath.Join(bed.Dir, agent.FilePlan)
		if err := os.WriteFile(options.Plan, plan, 0o644); err != nil {
			return fmt.Errorf("write the plan of a perturbation: %w", err)
		}
	}
	limited, cancel := context.WithTimeout(ctx, perturbedTime)
	defer cancel()
	seen := map[string]float64{}
	start := time.Now()
	look := func(dir string) {
		for _, bug := range r.bugs(dir, on.Version) {
			if _, known := seen[bug]; !known {
				seen[bug] = time.Since(start).Seconds()
			}
		}
	}
	result, err := bed.Run(limited, trial.Spec{
		JDK: on, Workload: r.workload, Flags: append([]string{"-XX:ErrorFile=" + errorFile}, r.flags...), Agent: options,
	}, func(_ int, dir string) bool {
		look(dir)
		return true
	})
	if err != nil {
		return err
	}
	look(result.Dir)
	p.Trials++
	if options.Plan != "" {
		taken, err := agent.ReadSchedule(filepath.Join(result.Dir, "agent", agent.FileSchedule))
		if err != nil || taken.Stats[schedule.StatDecisions] == 0 {
			p.Idle++
			return nil //nolint:nilerr // the trial proves nothing
		}
	}
	p.trials[[2]string{r.workload, strategy}]++
	for bug, at := range seen {
		c := p.cell(r.workload, bug, strategy)
		c.Hits++
		c.First = append(c.First, at)
	}
	bench.Note("%s on %s under %s, seed %d: %v", r.workload, on.Name, strategy, seed, seen)
	return nil
}

// bugs returns the known bugs that the files of a run show, once or several times each.
func (r trigger) bugs(dir, version string) (bugs []string) {
	add := func(label string) {
		if label != "" && !slices.Contains(bugs, label) {
			bugs = append(bugs, label)
		}
	}
	if r.rule != "" && r.shows(dir, version) {
		add(r.bug)
	}
	if f, err := os.Open(filepath.Join(dir, errorFile)); err == nil {
		defer f.Close()
		if report, err := hserr.Parse(f); err == nil {
			signature, _ := triage.Crash(report.Crash)
			add(known.Default().Label(signature, version))
		}
	}
	_ = eachMismatch(dir, func(m *misstepv1.Mismatch) error {
		signature, _ := triage.Mismatch(m)
		add(known.Default().Label(signature, version))
		return nil
	})
	return bugs
}

// table compares the strategies for each bug and workload, also those under which it never showed.
func (p *perturbations) table() bench.Table {
	t := bench.Table{
		Title: "perturbation by the agent: trials in which a known bug showed",
		Columns: []string{
			"bug", "workload", "strategy", "trials", "rate", "95 % interval", "median seconds to the first",
			"against none",
		},
	}
	var pairs [][2]string
	for _, c := range p.Cells {
		if pair := [2]string{c.Bug, c.Workload}; !slices.Contains(pairs, pair) {
			pairs = append(pairs, pair)
		}
	}
	slices.SortFunc(pairs, func(a, b [2]string) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
	for _, pair := range pairs {
		none := p.cell(pair[1], pair[0], "none")
		none.Trials = p.trials[[2]string{pair[1], "none"}]
		for _, s := range schedule.Strategies() {
			c := p.cell(pair[1], pair[0], s.Name)
			c.Trials = p.trials[[2]string{pair[1], s.Name}]
			if c.Trials == 0 {
				continue
			}
			low, high := interval.Wilson(c.Hits, c.Trials)
			t.Rows = append(t.Rows, []string{
				c.Bug, c.Workload, c.Strategy, fmt.Sprintf("%d of %d", c.Hits, c.Trials),
				fmt.Sprintf("%.2f", float64(c.Hits)/float64(c.Trials)), fmt.Sprintf("%.2f–%.2f", low, high),
				bench.Figure(bench.Median(c.First)), against(c, none),
			})
		}
	}
	return t
}

// against says whether a rate's interval is apart from that without a perturbation.
func against(c, none *perturbation) string {
	low, high := interval.Wilson(c.Hits, c.Trials)
	noneLow, noneHigh := interval.Wilson(none.Hits, none.Trials)
	switch {
	case c == none:
		return ""
	case low > noneHigh:
		return "more often"
	case high < noneLow:
		return "less often"
	}
	return "no difference"
}
