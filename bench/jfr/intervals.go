package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"misstep/agent"
	"misstep/bench"
	"misstep/bench/trial"
	"misstep/deploy/jdk"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
	"misstep/runner/judge/samplers"
	"misstep/runner/profiler"
	"misstep/runner/recording"
)

// intervals measures how each sampler keeps to its interval. The samplers of JFR run together, the others by themselves: a call of
// Thread.getAllStackTraces() stops all threads.
type intervals struct {
	bed          *trial.Bed
	reader       recording.Helper
	runs, failed int
	cells        []*cell
}

// cell is one sampler at one interval, with what was measured on each thread.
type cell struct {
	JDK, Workload, Sampler string
	Requested              time.Duration
	Threads                []samplers.Interval `json:"-"`
	Summary                summary
}

// summary is over the threads with at least leastSamples; times in nanoseconds.
type summary struct {
	Threads, Samples int
	// Median and P90 are medians of the threads' medians and 90 % quantiles, Difference of their medians of |interval - requested|
	// / requested, PerCPU of their CPU time by sample.
	Median, P90, PerCPU time.Duration
	Difference          float64
	// Lost, Failed and Absent are sums over all threads.
	Lost, Failed, Absent int64
}

const (
	leastSamples = 5
	// allRuns are three workloads, three JDKs, four intervals, and JFR, async-profiler and Thread.getAllStackTraces() for each.
	allRuns    = 3 * 3 * 4 * 3
	noProfiler = "" // only Thread.getAllStackTraces()
)

// intervalWorkloads are the programs, with arguments that take a few seconds: threads that compute, sleep, wait and run native code
// for known times; threads that start and end; one thread that computes.
var intervalWorkloads = []struct {
	name      string
	arguments []string
}{{"still", []string{"50", "12", "7"}}, {"churn", []string{"100"}}, {"mix", []string{"20000", "7"}}}

// requestedIntervals in the order of the table's columns.
var requestedIntervals = []time.Duration{time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond}

// measureIntervals makes one run after the other until all are made, or until the time is over.
func measureIntervals(ctx context.Context, bed *trial.Bed, reader recording.Helper, until time.Time) (*intervals, error) {
	m := &intervals{bed: bed, reader: reader}
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	newest := slices.MaxFunc(bed.JDKs, func(a, b jdk.Entry) int { return a.Feature - b.Feature }).Feature
	for _, interval := range requestedIntervals { // outermost, so that a short budget leaves whole columns
		for _, workload := range intervalWorkloads {
			for _, feature := range []int{17, 25, newest} {
				on, ok := bed.JDK(feature)
				if !ok || !bed.Runs(on, workload.name) {
					continue
				}
				spec := trial.Spec{JDK: on, Workload: workload.name, Arguments: workload.arguments, Repetitions: 1}
				for _, name := range []string{recipe.ProfilerJFR, recipe.ProfilerAsync, noProfiler} {
					err := m.run(ctx, spec, interval, name)
					if ctx.Err() != nil {
						return m, nil //nolint:nilerr // the budget is used up
					}
					if err != nil {
						m.failed++
						bench.Note("%s on %s, %v, %s: %v", workload.name, on.Name, interval, name, err)
					}
				}
			}
		}
	}
	return m, nil
}

// run makes one run under a profiler, or under the agent's stack traces, and adds its cells.
func (m *intervals) run(ctx context.Context, spec trial.Spec, interval time.Duration, name string) error {
	m.runs++
	r := &misstepv1.Recipe{Profiler: &misstepv1.Profiler{Name: name, Interval: durationpb.New(interval)}}
	out := filepath.Join(m.bed.Dir, fmt.Sprintf("recording-%d", m.runs))
	place := profiler.Place{Out: out, Work: out, Files: out}
	requested := map[samplers.Sampler]time.Duration{}
	if name == noProfiler {
		spec.Agent = &agent.Options{Stacks: interval}
		requested[samplers.AllStackTraces] = interval
	} else {
		flags, err := started(r, &place, spec.JDK)
		if err != nil {
			return err
		}
		spec.Flags = flags
		for _, s := range samplersOf(name) {
			requested[s] = interval
		}
	}
	result, err := m.bed.Run(ctx, spec, nil)
	if err != nil || result.Stopped {
		return err
	}
	if result.Failure != "" {
		return errors.New(result.Failure)
	}
	j := samplers.New(samplers.Options{AsyncProfiler: name == recipe.ProfilerAsync})
	if err := m.feed(ctx, j, r, place, result); err != nil {
		return err
	}
	m.add(spec.JDK.Name, spec.Workload, requested, j.Intervals(requested))
	return nil
}

func samplersOf(profiler string) []samplers.Sampler {
	if profiler == recipe.ProfilerAsync {
		return []samplers.Sampler{samplers.AsyncProfiler}
	}
	return []samplers.Sampler{samplers.JFRCPUTime, samplers.JFRExecution, samplers.JFRNative}
}

// started prepares the profiler's folder, and returns the JVM's arguments.
func started(r *misstepv1.Recipe, place *profiler.Place, on jdk.Entry) ([]string, error) {
	p, err := profiler.Of(r)
	if err != nil {
		return nil, err
	}
	if err := p.Supports(profiler.JDK{Home: on.Path, Feature: on.Feature}); err != nil {
		return nil, err
	}
	if p.Library() != "" {
		if place.Library, err = filepath.Abs(filepath.Join("build", "profilers", p.Library())); err != nil {
			return nil, err
		}
	}
	if err := os.MkdirAll(place.Out, 0o700); err != nil {
		return nil, fmt.Errorf("make the profiler's folder: %w", err)
	}
	settings := profiler.SettingsOf(r)
	files, err := p.Files(settings)
	if err != nil {
		return nil, err
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(place.Files, name), data, 0o600); err != nil {
			return nil, fmt.Errorf("write the profiler's settings: %w", err)
		}
	}
	return p.Arguments(settings, *place)
}

// feed gives a judge the recordings of a run, or the agent's stack traces, and the program's output.
func (m *intervals) feed(ctx context.Context, j *samplers.Judge, r *misstepv1.Recipe, place profiler.Place,
	run trial.Result,
) error {
	output, err := os.Open(filepath.Join(run.Dir, "stdout"))
	if err != nil {
		return fmt.Errorf("read the program's output: %w", err)
	}
	defer output.Close()
	if err := j.Held(output); err != nil {
		return err
	}
	if r.GetProfiler().GetName() == noProfiler {
		_, err := agent.ReadStacks(filepath.Join(run.Dir, "agent", agent.FileStacks), j.Round)
		return err
	}
	p, err := profiler.Of(r)
	if err != nil {
		return err
	}
	files, err := profiler.Recordings(p, place)
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return errors.New("the profiler left no recording")
	}
	for _, file := range files {
		if _, _, err := m.reader.Read(ctx, file, recording.Limits{}, j.Visit); err != nil {
			return err
		}
	}
	return nil
}

func (m *intervals) add(on, workload string, requested map[samplers.Sampler]time.Duration, all []samplers.Interval) {
	for by, interval := range requested {
		c := &cell{JDK: on, Workload: workload, Sampler: by.String(), Requested: interval}
		for _, i := range all {
			if i.Sampler == by {
				c.Threads = append(c.Threads, i)
			}
		}
		if len(c.Threads) > 0 {
			c.Summary = summarise(c.Threads)
			m.cells = append(m.cells, c)
		}
	}
}

func summarise(threads []samplers.Interval) summary {
	var s summary
	var medians, p90s, perCPU []time.Duration
	var differences []float64
	for _, t := range threads {
		s.Samples += t.Samples
		s.Lost, s.Failed, s.Absent = s.Lost+t.Lost, s.Failed+t.Failed, s.Absent+t.Absent
		if t.Samples < leastSamples {
			continue
		}
		s.Threads++
		medians, p90s, differences = append(medians, t.Median), append(p90s, t.P90), append(differences, t.Difference)
		if t.PerCPU > 0 {
			perCPU = append(perCPU, t.PerCPU)
		}
	}
	s.Median, s.P90, s.PerCPU, s.Difference = middle(medians), middle(p90s), middle(perCPU), middle(differences)
	return s
}

// middle returns the median, the lower one of two, and zero of nothing.
func middle[T time.Duration | float64](values []T) (none T) {
	if len(values) == 0 {
		return none
	}
	slices.Sort(values)
	return values[(len(values)-1)/2]
}

func (m *intervals) reached() string {
	return fmt.Sprintf("%d runs for the intervals, %d of them failed", m.runs, m.failed)
}

func (m *intervals) goals() []bench.Goal {
	return []bench.Goal{{
		Name: "runs for the interval table", Goal: allRuns, Measured: float64(m.runs - m.failed), AtLeast: true, Unit: "runs",
	}}
}
