// Command sandbox measures what it costs to confine the JVMs of trials: as this process's user, as another, and in a sandbox.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"misstep/app/executors"
	"misstep/app/local"
	"misstep/bench"
	"misstep/deploy/jdk"
	"misstep/internal/home"
	"misstep/internal/sandbox"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
	"misstep/runner/jvm"
	"misstep/workloads"
)

func main() {
	bench.Main("sandbox", func(ctx context.Context, stdout io.Writer) error { return run(ctx, stdout, os.Getenv("BUDGET")) })
}

// startsPerTrial is how many starts are measured for each trial of a workload.
const startsPerTrial = 4

// way is one way to run JVMs. Starts are in milliseconds, rates in verdicts a second of CPU time.
type way struct {
	Name     string    `json:"name"`
	Sandbox  string    `json:"sandbox"`
	Starts   []float64 `json:"starts_ms"`
	Rates    []float64 `json:"verdicts_per_cpu_second"`
	executor *jvm.Executor
}

func run(ctx context.Context, stdout io.Writer, budgetText string) (err error) {
	budget, err := bench.Budget(budgetText)
	if err != nil {
		return err
	}
	start := time.Now()
	ctx, cancel := context.WithDeadline(ctx, start.Add(budget))
	defer cancel()
	folder, err := filepath.Abs(filepath.Join("build", "agent"))
	if err != nil {
		return err
	}
	i := local.Installation{Home: home.Dir(), AgentDir: folder}
	on, err := i.JDKs().Get("jdk25")
	if err != nil {
		return err
	}
	load, err := i.Workloads().Get("mix")
	if err != nil {
		return err
	}
	scratch, remove, err := executors.Scratch("misstep-bench-sandbox-")
	if err != nil {
		return err
	}
	defer remove()
	ways, err := open(i, scratch)
	if err != nil {
		return err
	}
	var measured error
	for rounds := 0; measured == nil && ctx.Err() == nil; rounds++ {
		for n := range ways {
			w := ways[(n+rounds)%len(ways)] // each is first in turn
			if measured = w.measure(ctx, on, load, uint64(rounds)); measured != nil {
				break
			}
			bench.Note("round %d, %s: start %s ms, %s verdicts a CPU second", rounds, w.Name,
				bench.Figure(w.Starts[len(w.Starts)-1]), bench.Figure(w.Rates[len(w.Rates)-1]))
		}
	}
	if measured != nil && ctx.Err() == nil {
		return measured
	}
	return report(ways, start, budget).Finish(stdout, filepath.Join("build", "bench"))
}

// open makes an executor for each way. The first is what the others are compared with.
func open(i local.Installation, scratch string) (ways []*way, err error) {
	for _, p := range []struct {
		name   string
		policy sandbox.Policy
	}{
		{"plain", sandbox.Policy{Mode: sandbox.None, AsRoot: os.Geteuid() == 0}},
		{"other user", sandbox.Policy{Mode: sandbox.None}},
		{"sandbox", sandbox.Policy{Mode: sandbox.Auto}},
	} {
		s, err := p.policy.Open()
		if err != nil {
			return nil, err
		}
		e, err := executors.Host(i, nil, filepath.Join(scratch, p.name))
		if err != nil {
			return nil, err
		}
		e.Sandbox = s
		ways = append(ways, &way{Name: p.name, Sandbox: s.String(), executor: e})
	}
	return ways, nil
}

// measure starts JVMs that do nothing, and runs a workload under checks.
func (w *way) measure(ctx context.Context, on jdk.Entry, load workloads.Entry, seed uint64) error {
	for range startsPerTrial {
		began := time.Now()
		if err := w.executor.Starts(ctx, on.Path, on.Feature, on.Digest.String()); err != nil {
			return fmt.Errorf("%s: %w", w.Name, err)
		}
		w.Starts = append(w.Starts, float64(time.Since(began))/float64(time.Millisecond))
	}
	outcome, err := w.executor.Run(ctx, &misstepv1.Recipe{
		Jdk:             &misstepv1.Jdk{Name: on.Name, Digest: on.Digest.String(), Version: on.Version},
		Workload:        &misstepv1.Workload{Name: load.Name, Digest: load.Digest.String(), Repetitions: 1},
		Instrumentation: &misstepv1.Instrumentation{Ratio: 1},
		Sampling:        &misstepv1.Sampling{Interval: durationpb.New(time.Millisecond)},
		Checks:          []*misstepv1.Check{{Name: recipe.AsgctShadow, Share: 1}},
		Limits:          &misstepv1.Limits{Wall: durationpb.New(2 * time.Minute)},
		Seed:            seed, AgentDigest: w.executor.Agent.Digest,
	}, nil)
	if err != nil {
		return fmt.Errorf("%s: %w", w.Name, err)
	}
	verdicts := uint64(0)
	for _, c := range outcome.GetChecks() {
		verdicts += c.GetMatch() + c.GetMismatch()
	}
	if verdicts == 0 {
		return errors.New(w.Name + ": the checks did nothing: " + outcome.GetReason())
	}
	w.Rates = append(w.Rates, float64(verdicts)/outcome.GetCpu().AsDuration().Seconds())
	return nil
}

func report(ways []*way, start time.Time, budget time.Duration) bench.Report {
	complete := len(ways[0].Rates)
	for _, w := range ways {
		complete = min(complete, len(w.Rates))
	}
	r := bench.Report{
		Name: "sandbox", Date: start, Budget: budget, Reached: fmt.Sprintf("%d rounds", complete), Rows: ways,
	}
	t := bench.Table{Title: "medians", Columns: []string{"way", "start ms", "of", "verdicts a CPU second", "of", "confined by"}}
	for _, w := range ways {
		t.Rows = append(t.Rows, []string{
			w.Name, bench.Figure(bench.Median(w.Starts)), fmt.Sprint(len(w.Starts)), bench.Figure(bench.Median(w.Rates)),
			fmt.Sprint(len(w.Rates)), w.Sandbox,
		})
	}
	r.Tables = []bench.Table{t}
	for _, w := range ways[1:] {
		loss := 100 * (1 - median(w.Rates)/median(ways[0].Rates))
		r.Goals = append(r.Goals,
			bench.Goal{Name: w.Name + ": start", Goal: 100, Measured: median(w.Starts) - median(ways[0].Starts), Unit: "ms more"},
			bench.Goal{Name: w.Name + ": rate", Goal: 5, Measured: loss, Unit: "% less"},
		)
	}
	return r
}

// median is NaN where too little was measured to say anything.
func median(values []float64) float64 {
	if len(values) < 3 {
		return math.NaN()
	}
	return bench.Median(values)
}
