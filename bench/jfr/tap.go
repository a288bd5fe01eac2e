package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"time"

	"misstep/agent"
	"misstep/bench"
	"misstep/bench/trial"
	"misstep/deploy/jdk"
	"misstep/recipe"
	"misstep/runner/recording"
)

// The part tap measures what a tap costs and whether it changes the rates of JFR's samplers: the same work under JFR alone, with
// instrumented methods but no tap, and with taps that also ask AsyncGetCallTrace, as in a trial; then with a tenth of the methods
// instrumented. What a tap changes is seen against instrumented methods; the workload itself runs other code without them.

const (
	jfrAlone     = "JFR alone"
	instrumented = "instrumented"
	tapped       = "tapped"
	tappedTenth  = "tapped, a tenth"
)

// tapVariant is one way to run the workload under JFR.
type tapVariant struct {
	name  string
	agent *agent.Options // nil: none
}

func tapVariants() []tapVariant {
	with := func(ratio float64, tap string, asgct float64) *agent.Options {
		o := &agent.Options{Ratio: ratio, Tap: tap, TapAsgct: asgct}
		if tap == "" {
			// The agent refuses to instrument methods for nothing: about one check in a run.
			o.Checks = map[string]float64{recipe.GstAsgct: 1e-9}
		}
		return o
	}
	return []tapVariant{
		{jfrAlone, nil},
		{instrumented, with(1, "", 0)},
		{tapped, with(1, "both", agent.TapAsgctShare)},
		{tappedTenth, with(0.1, "both", agent.TapAsgctShare)},
	}
}

// tapRun is one run.
type tapRun struct {
	JDK               int
	Workload, Variant string
	Round             int
	// Seconds and CPU seconds of the process.
	Wall, CPU float64
	// Events of the samplers, and CPU-time samples that JFR counted as lost.
	Execution, Native, CPUTime, Lost int
	// Calls of the tapped handlers, and those that have no record.
	Calls, Missed uint64
}

const (
	executionSample = "jdk.ExecutionSample"
	nativeSample    = "jdk.NativeMethodSample"
	cpuTimeSample   = "jdk.CPUTimeSample"
)

// jfrFlags let JFR sample each millisecond.
func jfrFlags(feature int, file string) []string {
	events := "jdk.ExecutionSample#enabled=true,jdk.ExecutionSample#period=1ms,jdk.NativeMethodSample#enabled=true," +
		"jdk.NativeMethodSample#period=1ms"
	if feature >= 25 {
		events += ",jdk.CPUTimeSample#enabled=true,jdk.CPUTimeSample#throttle=1ms"
	}
	return []string{"-XX:StartFlightRecording=filename=" + file + "," + events}
}

// measureTap runs all variants in turn, every second time in the opposite order, so that the machine's load affects all alike. A
// run that fails is noted and left out.
func measureTap(ctx context.Context, bed *trial.Bed, reader recording.Helper, until time.Time) ([]tapRun, error) {
	var all []tapRun
	variants := tapVariants()
	var failure error
	for round := 0; ctx.Err() == nil && time.Now().Before(until); round++ {
		for _, feature := range tapFeatures {
			on, ok := bed.JDK(feature)
			if !ok {
				continue
			}
			for i := range variants {
				v := variants[i]
				if round%2 == 1 {
					v = variants[len(variants)-1-i]
				}
				r, err := runTap(ctx, bed, reader, on, v)
				if err != nil {
					failure = fmt.Errorf("measure the tap, %s on JDK %d: %w", v.name, feature, err)
					bench.Note("%v", failure)
					continue
				}
				r.Round = round
				all = append(all, r)
			}
		}
	}
	if len(all) == 0 && failure == nil {
		failure = errors.New("measure the tap: the catalogue has neither JDK 17 nor 25; fill it with make catalogue")
	}
	if len(all) == 0 {
		return nil, failure
	}
	return all, nil
}

// tapFeatures are the JDK before and after the samplers of JEP 509 and JEP 518.
var tapFeatures = []int{17, 25}

// tapWorkload computes on one thread for a few seconds; shorter than by its own arguments, so that there are more pairs of runs.
const tapWorkload = "mix"

var tapArguments = []string{"10000", "7"}

func runTap(ctx context.Context, bed *trial.Bed, reader recording.Helper, on jdk.Entry, v tapVariant) (tapRun, error) {
	run := tapRun{JDK: on.Feature, Workload: tapWorkload, Variant: v.name}
	folder, err := os.MkdirTemp(bed.Dir, "recording-")
	if err != nil {
		return run, fmt.Errorf("make the recording's folder: %w", err)
	}
	file := filepath.Join(folder, "r.jfr")
	r, err := bed.Run(ctx, trial.Spec{
		JDK: on, Workload: tapWorkload, Arguments: tapArguments, Repetitions: 1, Flags: jfrFlags(on.Feature, file), Agent: v.agent,
	}, nil)
	switch {
	case err != nil:
		return run, err
	case r.Failure != "":
		return run, errors.New(r.Failure)
	}
	run.Wall, run.CPU = r.Wall.Seconds(), r.CPU.Seconds()
	if v.agent != nil && v.agent.Tap != "" {
		tap, err := agent.ReadTap(filepath.Join(r.Dir, "agent", agent.FileTap))
		if err != nil {
			return run, err
		}
		run.Calls, run.Missed = tap.Called[0]+tap.Called[1], tap.Lost.Sum()
	}
	counts := map[string]*int{executionSample: &run.Execution, nativeSample: &run.Native, cpuTimeSample: &run.CPUTime}
	_, _, err = reader.Read(ctx, file, recording.Limits{}, func(record recording.Record) error {
		switch e := record.(type) {
		case *recording.Event:
			if n := counts[e.Type]; n != nil {
				*n++
			}
		case *recording.Lost:
			run.Lost += int(e.Samples)
		}
		return nil
	})
	return run, errors.Join(err, os.RemoveAll(folder), os.RemoveAll(r.Dir))
}

// tapFigure is one figure of a run that variants are compared by.
type tapFigure struct {
	name string
	of   func(tapRun) float64
}

var tapFigures = []tapFigure{
	{"CPU time", func(r tapRun) float64 { return r.CPU }},
	{"seconds", func(r tapRun) float64 { return r.Wall }},
	{executionSample + " a CPU second", func(r tapRun) float64 { return float64(r.Execution) / r.CPU }},
	{nativeSample + " a CPU second", func(r tapRun) float64 { return float64(r.Native) / r.CPU }},
	{cpuTimeSample + " and lost ones a CPU second", func(r tapRun) float64 { return float64(r.CPUTime+r.Lost) / r.CPU }},
}

// relations returns what a figure of a variant is in relation to that of another, round by round.
func relations(all []tapRun, feature int, f tapFigure, variant, to string) []float64 {
	base := map[int]float64{}
	for _, r := range all {
		if r.JDK == feature && r.Variant == to {
			base[r.Round] = f.of(r)
		}
	}
	var found []float64
	for _, r := range all {
		if r.JDK == feature && r.Variant == variant && base[r.Round] > 0 {
			found = append(found, f.of(r)/base[r.Round])
		}
	}
	return found
}

// tapTables returns the figures of all variants, and their relations.
func tapTables(all []tapRun) []bench.Table {
	figures := bench.Table{
		Title:   "JFR at 1 ms on " + tapWorkload + ": medians",
		Columns: []string{"JDK", "variant", "runs", "tapped calls", "without a record"},
	}
	related := bench.Table{
		Title:   "relations of one round's runs: median, interval that has the median with at least 95 %",
		Columns: []string{"JDK", "figure", "variant", "to", "rounds", "median", "from", "to"},
	}
	for _, f := range tapFigures {
		figures.Columns = append(figures.Columns, f.name)
	}
	for _, feature := range tapFeatures {
		for _, v := range tapVariants() {
			var runs []tapRun
			for _, r := range all {
				if r.JDK == feature && r.Variant == v.name {
					runs = append(runs, r)
				}
			}
			if len(runs) == 0 {
				continue
			}
			median := func(of func(tapRun) float64) string {
				var values []float64
				for _, r := range runs {
					values = append(values, of(r))
				}
				return bench.Figure(bench.Median(values))
			}
			row := []string{
				fmt.Sprint(feature), v.name, fmt.Sprint(len(runs)), median(func(r tapRun) float64 { return float64(r.Calls) }),
				median(func(r tapRun) float64 { return float64(r.Missed) }),
			}
			for _, f := range tapFigures {
				row = append(row, median(f.of))
			}
			figures.Rows = append(figures.Rows, row)
		}
		for _, f := range tapFigures {
			for _, pair := range [][2]string{
				{instrumented, jfrAlone}, {tapped, instrumented}, {tapped, jfrAlone}, {tappedTenth, jfrAlone},
			} {
				values := relations(all, feature, f, pair[0], pair[1])
				if len(values) == 0 {
					continue
				}
				low, high := bench.MedianInterval(values)
				related.Rows = append(related.Rows, []string{
					fmt.Sprint(feature), f.name, pair[0], pair[1], fmt.Sprint(len(values)), bench.Figure(bench.Median(values)),
					bench.Figure(low), bench.Figure(high),
				})
			}
		}
	}
	return []bench.Table{figures, related}
}

// tapGoals: what taps add, and that they change no rate.
func tapGoals(all []tapRun) []bench.Goal {
	var goals []bench.Goal
	for _, feature := range tapFeatures {
		for _, over := range []struct{ name, variant, to string }{
			{"tap and shadow over JFR alone", tapped, jfrAlone},
			{"tap and a tenth of the shadow over JFR alone", tappedTenth, jfrAlone},
			{"tap over the shadow", tapped, instrumented},
		} {
			goals = append(goals, bench.Goal{
				Name: fmt.Sprintf("%s, JDK %d, CPU time", over.name, feature), Goal: 1.1, Unit: "times",
				Measured: bench.Median(relations(all, feature, tapFigures[0], over.variant, over.to)),
			})
		}
		for _, f := range tapFigures[2:] {
			values := relations(all, feature, f, tapped, instrumented)
			if len(values) == 0 {
				continue
			}
			goals = append(goals, bench.Goal{
				Name: fmt.Sprintf("change by the tap, JDK %d, %s", feature, f.name), Goal: 5, Unit: "%",
				Measured: 100 * math.Abs(bench.Median(values)-1),
			})
		}
	}
	return goals
}
