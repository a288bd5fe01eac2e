// Command sched measures how soon each strategy of the scheduler, and scx_chaos, reaches each planted race, in a machine of virtual time.
//
// Figures do not move with the host's load. What was measured is kept in build/bench/sched.cells.jsonl and not measured again, so that a
// benchmark that its budget ended goes on from there. STRATEGIES=chaos,none measures the cells of these only, and nothing else.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"misstep/internal/bench"
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
	if len(args) > 0 { // this program is also what runs in the guest
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

// dir is where figures and what was built for them are kept.
var dir = filepath.Join("build", "bench")

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
	steps := []struct {
		name string
		run  func(context.Context) error
	}{
		{"overhead", func(ctx context.Context) error { return l.overhead(ctx, s) }},
		{"time to the bug", func(ctx context.Context) error { return l.cells(ctx, s, mainStrategies) }},
		{"the same seed again", func(ctx context.Context) error { return l.again(ctx, s) }},
		{"recordings", func(ctx context.Context) error { return l.recordings(ctx, s) }},
		{"logs in real time", func(ctx context.Context) error { return l.logs(ctx, s) }},
		{"the other strategies", func(ctx context.Context) error { return l.cells(ctx, s, otherStrategies()) }},
	}
	if only := os.Getenv("STRATEGIES"); only != "" {
		strategies := strings.Split(only, ",")
		for _, name := range strategies {
			if !slices.Contains(append(otherStrategies(), mainStrategies...), name) {
				return fmt.Errorf("STRATEGIES=%s: no strategy %q; there are %s, %s", only, name, strings.Join(mainStrategies, ", "), strings.Join(otherStrategies(), ", "))
			}
		}
		steps = steps[1:2]
		steps[0].run = func(ctx context.Context) error { return l.cells(ctx, s, strategies) }
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
		reached = "all was measured"
	}
	r := report(l, s)
	r.Date, r.Budget, r.Reached = began, budget, reached
	return r.Finish(os.Stdout, dir)
}
