package bpf

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"misstep/schedule"

	"github.com/alecthomas/kong"
)

// Exit codes of `sched run` and `sched replay` besides the command's own; 125 to 127 are those of env(1) and timeout(1).
const (
	exitEjected  = 123 // the kernel took the scheduler out: the run proves nothing
	exitTimeout  = 124
	exitOwn      = 125 // the scheduler could not be loaded, a wrong flag, a log that cannot be written
	exitNotStart = 127 // the command could not be started
)

type commandLine struct {
	Run        runCommand        `cmd:"" help:"Run any program under the perturbing scheduler; its exit code is passed on."`
	Replay     replayCommand     `cmd:"" help:"Run a program with the recorded decisions of a log, thread by thread; says where and when it departs."`
	Places     placesCommand     `cmd:"" help:"Show at which places of the program a log's threads were stopped near its end and hardly before: what may have made it fail."`
	Strategies strategiesCommand `cmd:"" help:"Explain the strategies and their parameters."`
}

// Common flags of run and replay.
type runFlags struct {
	Timeout time.Duration `help:"End a run after this time with exit code 124."`
	User    string        `help:"Run the command as this user; under sudo that is the user who called it."`
	JSON    bool          `name:"json" help:"Print the counters as JSON."`
	Threads int           `help:"Threads to list." default:"20"`
	Command []string      `arg:"" passthrough:"" help:"Command to run, after --."`
}

type runCommand struct {
	Strategy           string            `help:"Strategy, see sched strategies." default:"chaos"`
	Seed               uint64            `help:"Seed of all decisions." default:"1"`
	Param              map[string]string `help:"Parameter of the strategy." placeholder:"NAME=VALUE"`
	Log                string            `help:"Write the decisions to this file, for sched replay; of several runs, the last one's." placeholder:"FILE"`
	RepeatUntilFailure bool              `help:"Run again with the next seed until a run fails."`
	MaxRuns            int               `help:"Stop after so many runs that did not fail." placeholder:"N"`
	ErrorCommand       string            `help:"Shell command to run after a failure, with MISSTEP_SEED and MISSTEP_EXIT set; not after an ejection." placeholder:"COMMAND"`
	runFlags           `embed:""`
}

type replayCommand struct {
	File     string `arg:"" name:"log" help:"Log of sched run --log." type:"existingfile"`
	Round    int    `help:"The program goes round and creates so many threads each time: every round takes the decisions of the log's last one, in which it failed." placeholder:"THREADS"`
	Places   int    `help:"Stop threads at so many places at most, 0 to 4: where the log stopped them near its end and hardly before, see sched places." default:"4"`
	runFlags `embed:""`
}

type placesCommand struct {
	File  string `arg:"" name:"log" help:"Log of sched run --log." type:"existingfile"`
	Round int    `help:"The program goes round and creates so many threads each time: places of the last round." placeholder:"THREADS"`
	Count int    `help:"Places to list." default:"20"`
	JSON  bool   `name:"json" help:"Print JSON."`
}

type strategiesCommand struct {
	JSON bool `name:"json" help:"Print JSON."`
}

// streams are what a command writes to: its own counters go to stderr, so that stdout stays the program's.
type streams struct {
	ctx            context.Context
	stdout, stderr io.Writer
	code           int
}

// Command runs `run`, `replay`, `places` or `strategies` with their flags and returns the exit code: the command's own, 123 after an
// ejection, 124 after a timeout, 125 for trouble of its own, 127 when the command could not be started, 128+N after signal N.
func Command(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	s := &streams{ctx: ctx, stdout: stdout, stderr: stderr}
	exited := false
	parser, err := kong.New(&commandLine{}, kong.Name("misstep sched"), kong.Writers(stdout, stderr), kong.UsageOnError(),
		kong.Exit(func(int) { exited = true }))
	if err != nil {
		fmt.Fprintln(stderr, "misstep sched:", err)
		return exitOwn
	}
	line, err := parser.Parse(args)
	if exited { // --help
		return 0
	}
	if err == nil {
		err = line.Run(s)
	}
	if err != nil {
		fmt.Fprintln(stderr, "misstep sched:", err)
		if _, ok := errors.AsType[*NotStartedError](err); ok {
			return exitNotStart
		}
		return exitOwn
	}
	return s.code
}

// Run explains the strategies.
func (c *strategiesCommand) Run(s *streams) error {
	if c.JSON {
		return printJSON(s.stdout, schedule.Strategies())
	}
	for i, x := range schedule.Strategies() {
		if i > 0 {
			fmt.Fprintln(s.stdout)
		}
		fmt.Fprintf(s.stdout, "%s\n", x.Name)
		for line := range strings.SplitSeq(wrapped(x.Doc, 100), "\n") {
			fmt.Fprintf(s.stdout, "    %s\n", line)
		}
		explain(s.stdout, x.Parameters)
	}
	fmt.Fprintf(s.stdout, "\nAll but none have these, too:\n")
	explain(s.stdout, schedule.Bounds())
	return nil
}

func explain(w io.Writer, parameters []schedule.Parameter) {
	for _, p := range parameters {
		fmt.Fprintf(w, "  %s=%s in %s\n", p.Name, schedule.Number(p.Default), p.Range())
		for line := range strings.SplitSeq(wrapped(p.Doc, 100), "\n") {
			fmt.Fprintf(w, "      %s\n", line)
		}
	}
}

func wrapped(text string, width int) string {
	var b strings.Builder
	column := 0
	for word := range strings.FieldsSeq(text) {
		switch {
		case column == 0:
		case column+1+len(word) > width:
			b.WriteByte('\n')
			column = 0
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += len(word)
	}
	return b.String()
}

func printJSON(w io.Writer, value any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(value)
}

// Run runs the command once or until it fails.
func (c *runCommand) Run(s *streams) error {
	p := schedule.Perturbation{Strategy: c.Strategy, Seed: c.Seed, Parameters: map[string]float64{}}
	for name, text := range c.Param {
		value, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return fmt.Errorf("--param %s=%s: want a number", name, text)
		}
		p.Parameters[name] = value
	}
	if err := p.Validate(); err != nil {
		return err
	}
	if c.MaxRuns != 0 && (!c.RepeatUntilFailure || c.MaxRuns < 0) {
		return errors.New("--max-runs: want a positive number, with --repeat-until-failure")
	}
	command, err := c.command()
	if err != nil {
		return err
	}
	if err := Supported(); err != nil {
		return err
	}
	return c.repeat(s, p, func(p schedule.Perturbation) (*Result, error) {
		return c.once(s, Options{Perturbation: p, FixedAddresses: c.Log != ""}, command, c.Log)
	})
}

// repeat runs once, or until a run fails. A run that proves nothing, ejected or interrupted, ends it and is no failure.
func (c *runCommand) repeat(s *streams, p schedule.Perturbation, once func(schedule.Perturbation) (*Result, error)) error {
	for i := 1; ; i++ {
		result, err := once(p)
		if err != nil {
			return err
		}
		s.code = result.Code()
		void := result.Report.Ejection != nil || s.ctx.Err() != nil
		last := c.MaxRuns > 0 && i >= c.MaxRuns
		if c.RepeatUntilFailure && s.code == 0 && !void && !last {
			p.Seed++
			continue
		}
		c.print(s, result)
		switch {
		case void:
		case s.code != 0:
			if c.RepeatUntilFailure {
				fmt.Fprintf(s.stderr, "misstep sched: run %d, seed %d: exit code %d\n", i, p.Seed, s.code)
			}
			c.failed(s, p, s.code)
		case last:
			fmt.Fprintf(s.stderr, "misstep sched: no failure in %d runs, seeds %d to %d\n", i, c.Seed, p.Seed)
		}
		return nil
	}
}

// failed runs the error command, as the user whom the command itself has run as.
func (c *runCommand) failed(s *streams, p schedule.Perturbation, code int) {
	if c.ErrorCommand == "" {
		return
	}
	credential, env, err := credentialOf(c.User)
	if err != nil {
		fmt.Fprintf(s.stderr, "misstep sched: error command: %v\n", err)
		return
	}
	cmd := exec.CommandContext(s.ctx, "/bin/sh", "-c", c.ErrorCommand)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: credential}
	cmd.Env = append(append(os.Environ(), env...), fmt.Sprintf("MISSTEP_SEED=%d", p.Seed), fmt.Sprintf("MISSTEP_EXIT=%d", code))
	cmd.Stdout, cmd.Stderr = s.stdout, s.stderr
	if err := cmd.Run(); err != nil {
		fmt.Fprintf(s.stderr, "misstep sched: error command: %v\n", err)
	}
}

// readReplayable reads the log of a file for a command.
func readReplayable(s *streams, file string) (*schedule.Log, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	log, err := schedule.ReadLog(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if m := log.Header.Mechanism; m != "" {
		return nil, fmt.Errorf("%s: these are decisions of the mechanism %.40q, taken at points that the scheduler does not see; "+
			"the recipe's seed takes the same ones again: misstep run RECIPE, misstep replay BUNDLE", file, m)
	}
	if log.Cut {
		fmt.Fprintf(s.stderr, "misstep sched: %s: %v: what comes last in it is not the run's end\n", file, schedule.ErrCut)
	}
	if log.Lost > 0 {
		fmt.Fprintf(s.stderr, "misstep sched: %s: %d records were lost when it was recorded\n", file, log.Lost)
	}
	if !log.Header.FixedAddresses {
		fmt.Fprintf(s.stderr, "misstep sched: %s: addresses were random when it was recorded: its places are of that run only, and no replay stops threads there\n", file)
	}
	return log, nil
}

// Run replays.
func (c *replayCommand) Run(s *streams) error {
	if c.Places < 0 || c.Places > schedule.MaxPlaces {
		return fmt.Errorf("--places %d: want 0 to %d, the processor's breakpoints", c.Places, schedule.MaxPlaces)
	}
	log, err := readReplayable(s, c.File)
	if err != nil {
		return fmt.Errorf("replay: %w", err)
	}
	command, err := c.command()
	if err != nil {
		return err
	}
	if !slices.Equal(command, log.Header.Command) {
		fmt.Fprintf(s.stderr, "misstep sched: recorded was another command: %s\n", schedule.Printable(strings.Join(log.Header.Command, " ")))
	}
	o := Options{Perturbation: log.Header.Perturbation, Replay: log, Round: c.Round, FixedAddresses: log.Header.FixedAddresses}
	if o.FixedAddresses && c.Places > 0 {
		stops, err := log.Stops(c.Round)
		if err != nil {
			return err
		}
		o.Stops = schedule.Choose(stops, c.Places)
	}
	result, err := c.once(s, o, command, "")
	if err != nil {
		return err
	}
	s.code = result.Code()
	c.print(s, result)
	return nil
}

func (c *runFlags) command() ([]string, error) {
	command := c.Command
	if len(command) > 0 && command[0] == "--" {
		command = command[1:]
	}
	if len(command) == 0 {
		return nil, errors.New("no command: give it after --")
	}
	if c.Timeout < 0 || c.Threads < 0 {
		return nil, errors.New("--timeout and --threads: want no negative value")
	}
	return command, nil
}

func (c *runFlags) print(s *streams, r *Result) {
	if c.JSON {
		_ = printJSON(s.stderr, r.Report)
		return
	}
	r.Report.Write(s.stderr, c.Threads)
	if r.TimedOut {
		fmt.Fprintf(s.stderr, "misstep sched: ended after %v\n", c.Timeout)
	}
}

// once runs a command under a scheduler of its own.
func (c *runFlags) once(s *streams, o Options, command []string, logFile string) (result *Result, err error) {
	credential, env, err := credentialOf(c.User)
	if err != nil {
		return nil, err
	}
	if logFile != "" {
		f, err := os.Create(logFile)
		if err != nil {
			return nil, fmt.Errorf("write schedule log: %w", err)
		}
		defer func() {
			if closing := f.Close(); err == nil && closing != nil {
				result, err = nil, fmt.Errorf("write schedule log: %w", closing)
			}
		}()
		if o.Log, err = schedule.NewLogWriter(f, schedule.Header{Perturbation: o.Perturbation, FixedAddresses: o.FixedAddresses, Command: command}); err != nil {
			return nil, err
		}
	}
	ctx := s.ctx
	if c.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, c.Timeout, errTimeout)
		defer cancel()
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(os.Environ(), env...) // the last setting of a name counts
	cmd.Stdout, cmd.Stderr = s.stdout, s.stderr
	if !terminal(os.Stdin) { // the command is no foreground job, and would stop when it reads from a terminal
		cmd.Stdin = os.Stdin
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: credential}
	return Run(ctx, o, cmd)
}
