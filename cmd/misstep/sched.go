package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"misstep/bpf"
	"misstep/schedule"
)

type schedCommand struct {
	Run        schedRun        `cmd:"" help:"Run any program under the perturbing scheduler; its exit code is passed on."`
	Replay     schedReplay     `cmd:"" help:"Run a program with the recorded decisions of a log, thread by thread; reports where and when it departs from them."`
	Places     schedPlaces     `within:"[0,4]" cmd:"" help:"Show the places at which a log's threads were stopped near its end and rarely before: the likely causes of its failure."`
	Explain    schedExplain    `cmd:"" help:"Explain a log in words and as a picture: which threads were kept away, who waited for whom, where everything stood still."`
	Strategies schedStrategies `cmd:"" help:"Explain the strategies and their parameters."`
}

// programFlags are those of a program that is run under the scheduler.
type programFlags struct {
	Timeout time.Duration `within:"(0s,)" help:"End a run after this time with exit code 124."`
	User    string        `help:"Run the program as this user (default: the caller of sudo)."`
	JSON    bool          `name:"json" help:"Print the counters as JSON, on stderr."`
	Threads int           `within:"[0,)" help:"Number of threads to list." default:"20"`
	Command []string      `arg:"" passthrough:"partial" help:"Command line of the program, after --."`
}

func (f programFlags) program(e *env) bpf.Program {
	return bpf.Program{
		Command: afterDashes(f.Command), Timeout: f.Timeout, User: f.User, JSON: f.JSON, Threads: f.Threads,
		Stdout: direct(e.stdout), Stderr: direct(e.stderr),
	}
}

// afterDashes is a command line without the -- that may stand before it.
func afterDashes(command []string) []string {
	if len(command) > 0 && command[0] == "--" {
		return command[1:]
	}
	return command
}

type schedRun struct {
	Strategy           string            `help:"Strategy; see misstep sched strategies." default:"chaos" predictor:"strategy"`
	Seed               uint64            `within:"any" help:"Seed of all decisions." default:"1"`
	Param              map[string]string `help:"Parameter of the strategy; repeatable." placeholder:"NAME=VALUE"`
	Log                string            `help:"Write the decisions to this file, for misstep sched replay; of several runs, those of the last." placeholder:"FILE"`
	RepeatUntilFailure bool              `help:"Run again with the next seed until a run fails."`
	MaxRuns            int               `within:"[1,)" help:"Stop after this many runs without a failure." placeholder:"N"`
	ErrorCommand       string            `help:"Shell command to run after a failure, with MISSTEP_SEED and MISSTEP_EXIT set; not after an ejection." placeholder:"COMMAND"`
	programFlags
}

// Run runs the program once or until it fails.
func (c *schedRun) Run(ctx context.Context, e *env) error {
	p := schedule.Perturbation{Strategy: c.Strategy, Seed: c.Seed, Parameters: map[string]float64{}}
	for name, text := range c.Param {
		value, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return &exitError{code: exitOwn, err: fmt.Errorf("--param %s=%s: want a number", name, text)}
		}
		p.Parameters[name] = value
	}
	return passOn(bpf.RunRequest{
		Program: c.program(e), Perturbation: p, Log: c.Log, RepeatUntilFailure: c.RepeatUntilFailure, MaxRuns: c.MaxRuns,
		ErrorCommand: c.ErrorCommand,
	}.Run(ctx))
}

// passOn turns the exit code of a program under the scheduler, or what kept it from running, into that of the command.
func passOn(code int, err error) error {
	if err == nil {
		return &exitError{code: code}
	}
	if _, ok := errors.AsType[*bpf.NotStartedError](err); ok {
		return &exitError{code: exitNotStarted, err: err}
	}
	return &exitError{code: exitOwn, err: err}
}

type schedReplay struct {
	File   string `arg:"" name:"log" help:"Log of misstep sched run --log." type:"existingfile" predictor:"file"`
	Round  int    `within:"[1,)" help:"Number of threads that the program creates in each round, if it repeats itself: every round takes the decisions of the log's last one, in which it failed." placeholder:"THREADS"`
	Places int    `within:"[0,4]" help:"Maximum number of places, 0 to 4, at which to stop threads: where the log stopped them near its end and rarely before." default:"4"`
	programFlags
}

// Run replays.
func (c *schedReplay) Run(ctx context.Context, e *env) error {
	return passOn(bpf.ReplayRequest{Program: c.program(e), File: c.File, Round: c.Round, Places: c.Places}.Run(ctx))
}

type schedPlaces struct {
	File  string `arg:"" name:"log" help:"Log of misstep sched run --log." type:"existingfile" predictor:"file"`
	Round int    `within:"[1,)" help:"Number of threads that the program creates in each round: lists the places of the last round." placeholder:"THREADS"`
	Count int    `within:"[1,)" help:"Number of places to list." default:"20"`
	JSON  bool   `name:"json" help:"Print a list of places."`
}

// Run lists the places.
func (c *schedPlaces) Run(e *env) error {
	places, err := bpf.PlacesRequest{File: c.File, Round: c.Round, Count: c.Count, Stderr: e.stderr}.List()
	if err != nil {
		return &exitError{code: exitOwn, err: err}
	}
	if c.JSON {
		return e.json(places)
	}
	if len(places) == 0 {
		fmt.Fprintln(e.stdout, "no place stands out: near the log's end threads lost their CPU where they did before, "+
			"or at addresses that tell nothing")
		return nil
	}
	schedule.WriteStops(e.stdout, places)
	return nil
}

type schedStrategies struct {
	JSON bool `name:"json" help:"Print a list of strategies."`
}

// Run explains the strategies.
func (c *schedStrategies) Run(e *env) error {
	if c.JSON {
		return e.json(schedule.Strategies())
	}
	for i, x := range schedule.Strategies() {
		if i > 0 {
			fmt.Fprintln(e.stdout)
		}
		fmt.Fprintln(e.stdout, x.Name)
		renderWrapped(e.stdout, x.Doc, "    ")
		renderParameters(e.stdout, x.Parameters)
	}
	fmt.Fprintf(e.stdout, "\nAll but none also have:\n")
	renderParameters(e.stdout, schedule.Bounds())
	return nil
}

func renderParameters(w io.Writer, parameters []schedule.Parameter) {
	for _, p := range parameters {
		fmt.Fprintf(w, "  %s=%s in %s\n", p.Name, schedule.Number(p.Default), p.Range())
		renderWrapped(w, p.Doc, "      ")
	}
}

// renderWrapped prints a string in indented lines of at most about 100 characters.
func renderWrapped(w io.Writer, text, indent string) {
	const width = 100
	column := 0
	for word := range strings.FieldsSeq(text) {
		switch {
		case column == 0:
			fmt.Fprint(w, indent)
		case column+1+len(word) > width:
			fmt.Fprint(w, "\n"+indent)
			column = 0
		default:
			fmt.Fprint(w, " ")
			column++
		}
		fmt.Fprint(w, word)
		column += len(word)
	}
	fmt.Fprintln(w)
}
