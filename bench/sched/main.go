// Command sched measures how soon each strategy of the scheduler, and scx_chaos, hits each planted race, in a machine with virtual
// time.
//
// The host's load does not affect the figures. Measurements are kept in build/bench/sched.cells.jsonl and not repeated, so that a
// benchmark that ran out of budget resumes from there. STRATEGIES=chaos,none measures only the cells of these strategies;
// STEPS=again,logs runs these steps only; RACES=aba,order3 measures these races only, or those programs of workloads/libraries
// or samples of jcstress; SEEDS=1005,1006 measures these seeds only, of 1001 to 1010.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"misstep/bench"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "sched:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) > 0 { // in the guest this same program runs
		switch args[0] {
		case "cells":
			return guestCells(ctx)
		case "overhead":
			return guestOverhead(ctx)
		case "logs":
			return guestLogs(ctx)
		}
		return fmt.Errorf("unknown argument %q: the benchmark takes its settings from the environment", args[0])
	}
	return host(ctx)
}

// dir is the folder of the figures and of the programs built for them.
var dir = filepath.Join("build", "bench")

// step is a step of the benchmark.
type step struct {
	name string
	run  func(context.Context) error
}

// stepsOf returns the steps to run: all, those named in only, or the cells of the named strategies.
func stepsOf(l *lab, s *store, only, strategies string) ([]step, error) {
	steps := []step{
		{"overhead", func(ctx context.Context) error { return l.overhead(ctx, s) }},
		{"cells", func(ctx context.Context) error { return l.cells(ctx, s, cellsOf(mainStrategies)) }},
		{"periodic", func(ctx context.Context) error { return l.cells(ctx, s, periodicCells(periodicStrategies)) }},
		{"again", func(ctx context.Context) error { return l.again(ctx, s, l.ofRaces()) }},
		{"recordings", func(ctx context.Context) error { return l.recordings(ctx, s, l.ofRaces()) }},
		{"logs", func(ctx context.Context) error { return l.logs(ctx, s) }},
		{"libraries", func(ctx context.Context) error { return l.libraryBugs(ctx, s) }},
		{"runs", func(ctx context.Context) error { return l.javaRuns(ctx, s) }},
		{"jcstress", func(ctx context.Context) error { return l.jcstressForks(ctx, s) }},
		{"others", func(ctx context.Context) error { return l.cells(ctx, s, allCells(otherStrategies())) }},
	}
	if strategies != "" {
		names, known := strings.Split(strategies, ","), append(otherStrategies(), periodicStrategies...)
		for _, name := range names {
			if !slices.Contains(known, name) {
				return nil, fmt.Errorf("STRATEGIES=%s: no strategy %q; there are %s", strategies, name, strings.Join(known, ", "))
			}
		}
		return []step{{"cells", func(ctx context.Context) error { return l.cells(ctx, s, allCells(names)) }}}, nil
	}
	if only == "" {
		return steps, nil
	}
	var chosen []step
	for name := range strings.SplitSeq(only, ",") {
		i := slices.IndexFunc(steps, func(x step) bool { return x.name == name })
		if i < 0 {
			var names []string
			for _, x := range steps {
				names = append(names, x.name)
			}
			return nil, fmt.Errorf("STEPS=%s: no step %q; there are %s", only, name, strings.Join(names, ", "))
		}
		chosen = append(chosen, steps[i])
	}
	return chosen, nil
}

// seedsOf returns the seeds to measure, nil for all.
func seedsOf(list string) (all []uint64, err error) {
	if list == "" {
		return nil, nil
	}
	for text := range strings.SplitSeq(list, ",") {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil || seed < firstSeed || seed >= firstSeed+seeds {
			return nil, fmt.Errorf("SEEDS=%s: no seed %q; there are %d to %d", list, text, firstSeed, firstSeed+seeds-1)
		}
		all = append(all, seed)
	}
	return all, nil
}

func host(ctx context.Context) error {
	budget, err := bench.Budget(os.Getenv("BUDGET"))
	if err != nil {
		return err
	}
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, budget)
	defer cancel()
	l, err := newLab(ctx)
	if err != nil {
		return err
	}
	defer l.close()
	cells, err := bench.OpenStore[entry](filepath.Join(dir, "sched.cells.jsonl"))
	if err != nil {
		return err
	}
	defer cells.Close()
	s := &store{cells}
	var reached string
	if races := os.Getenv("RACES"); races != "" {
		l.only = strings.Split(races, ",")
		known := slices.Concat(racesC, racesJava, periodicC, periodicJava, libraryBugs, jcstressNames())
		for _, name := range l.only {
			if !slices.Contains(known, name) {
				return fmt.Errorf("RACES=%s: no race %q; there are %s", races, name, strings.Join(known, ", "))
			}
		}
	}
	if l.seeds, err = seedsOf(os.Getenv("SEEDS")); err != nil {
		return err
	}
	steps, err := stepsOf(l, s, os.Getenv("STEPS"), os.Getenv("STRATEGIES"))
	if err != nil {
		return err
	}
	for _, step := range steps {
		fmt.Fprintln(os.Stderr, "sched:", step.name)
		if err := step.run(ctx); err != nil {
			if ctx.Err() == nil {
				return fmt.Errorf("%s: %w", step.name, err)
			}
			reached = "ended in the step: " + step.name
			break
		}
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}
	if reached == "" {
		reached = "everything was measured"
	}
	r := report(l, s)
	r.Date, r.Budget, r.Reached = began, budget, reached
	return r.Finish(os.Stdout, dir)
}
