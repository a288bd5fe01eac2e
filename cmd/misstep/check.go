package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"misstep/app/check"
)

// shareFlag is a share, as a number or in percent.
type shareFlag float64

// UnmarshalText parses a share.
func (s *shareFlag) UnmarshalText(text []byte) error {
	number, percent := strings.CutSuffix(strings.TrimSpace(string(text)), "%")
	value, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if percent {
		value /= 100
	}
	if err != nil || !(value >= 0 && value <= 1) {
		return fmt.Errorf("%q: expected a share from 0 to 1, or from 0%% to 100%%", text)
	}
	*s = shareFlag(value)
	return nil
}

// defaultBudget is the share of a thread's CPU time that its entry checks may take.
const defaultBudget = 0.05

type checkCommand struct {
	gateFlags
	Profiler      profilerFlag  `help:"Run with this profiler and judge its recording: jfr or async-profiler, then the interval between samples and options if there are any, as in jfr,1ms or async-profiler,1ms,cstack=vmx." placeholder:"NAME[,INTERVAL][,OPTION]…" predictor:"profiler" xor:"pid-profiler"`
	Checks        []string      `help:"Checks to make in place of those that fit, each with its share if it is not the default (misstep checks lists them)." placeholder:"CHECK[=SHARE]" xor:"which"`
	Walker        string        `help:"Make only the checks that judge this walker, of those that fit: asgct, gst, jfr or async-profiler, the latter two with --profiler." placeholder:"WALKER" xor:"which"`
	Light         bool          `help:"Instrument nothing: brackets, edges and recordings only, at little cost." xor:"budget,ratio,include,exclude,leaves"`
	AllJVMs       bool          `name:"all-jvms" help:"Check each JVM that the command starts, by the variable JAVA_TOOL_OPTIONS; instruments nothing, and needs no java as command." xor:"of,all-budget,all-ratio,all-include,all-exclude,all-leaves,all-bundle"`
	PID           int           `name:"pid" within:"[1,)" help:"Check the JVM of this process, which runs already, until --for is over or Ctrl-C; it continues. Instruments nothing, and takes no command." placeholder:"PID" xor:"of,pid-budget,pid-ratio,pid-include,pid-exclude,pid-leaves,pid-profiler,pid-bundle,pid-kill"`
	Budget        *shareFlag    `within:"any" help:"Share of each thread's CPU time that checks at method entries may take, such as 2% (default: 5%); 0 leaves them their share of entries, whatever that costs." placeholder:"SHARE" xor:"budget,all-budget,pid-budget"`
	Ratio         float64       `within:"(0,1]" help:"Share of methods that are instrumented (default: all)." placeholder:"SHARE" xor:"ratio,all-ratio,pid-ratio"`
	Include       []string      `help:"Instrument only methods of these names: patterns of package.Class.method, * for any run of characters." placeholder:"PATTERN" xor:"include,all-include,pid-include"`
	Exclude       []string      `help:"Instrument no methods of these names." placeholder:"PATTERN" xor:"exclude,all-exclude,pid-exclude"`
	NoLeaves      bool          `help:"Leave out leaves and forwarders, methods that loop nowhere and have one call at most: much cheaper where those are many." xor:"leaves,all-leaves,pid-leaves"`
	Interval      time.Duration `within:"[10us,1m]" help:"Time between two signals of the agent's sampler (default: 1ms; 20ms with --light)." placeholder:"DURATION"`
	Seed          uint64        `within:"any" help:"Seed of the choice of methods, of entry checks and of the sampler." default:"1"`
	For           time.Duration `within:"(0s,)" help:"Ask the program to end (SIGTERM) after this time; with --pid, end the check. Its end by that signal counts as exit code 0. It takes as long as the program needs to end, and what it left is judged after that." placeholder:"DURATION"`
	KillAfter     time.Duration `within:"(0s,)" help:"With --for: kill the program (SIGKILL) when it still runs this time after SIGTERM. What the agent and a profiler have not written by then is lost." placeholder:"DURATION" xor:"pid-kill"`
	Out           string        `help:"Keep what was observed in this folder, new or empty." type:"path" placeholder:"DIR"`
	Bundle        string        `help:"Write a bundle of each finding into this folder: its run.sh repeats the finding on any JDK. The program's own files are not in it." type:"path" placeholder:"DIR" xor:"all-bundle,pid-bundle"`
	WithClasspath bool          `help:"Put the files of the program's class path into each bundle."`
	BundleLimit   sizeFlag      `within:"[1,)" help:"Size of the largest class path that goes into a bundle." default:"256MiB" placeholder:"SIZE"`
	JSON          bool          `name:"json" help:"Print the report as JSON, on stderr: {command, jdk, outcome, checks, compared, profiles, bugs, notes, …}."`
	Command       []string      `arg:"" optional:"" passthrough:"partial" help:"Command that starts the JVM, after --, as in: misstep check -- java -jar app.jar."`
}

// Help is shown below the command's usage.
func (c *checkCommand) Help() string {
	return "Runs a Java program as it is, on the JDK that its command names, with Misstep's agent in its JVM. What the program\n" +
		"prints and returns is passed on, and so are signals. The report follows on stderr: the verdicts of each check, the\n" +
		"findings by bug, and which share of a profile's samples each of them spoils."
}

// Run runs the program and reports.
func (c *checkCommand) Run(ctx context.Context, e *env) error {
	command := afterDashes(c.Command)
	run := check.Run
	switch {
	case (len(command) == 0) != (c.PID > 0):
		return &exitError{code: exitOwn, err: errors.New("give the program's command after --, such as java -jar app.jar, " +
			"or --pid")}
	case c.AllJVMs:
		run = check.RunAll
	case c.PID > 0:
		run = func(ctx context.Context, o check.Options) (*check.Report, error) { return check.RunIn(ctx, o, c.PID) }
	}
	if err := c.lacks(); err != nil {
		return &exitError{code: exitOwn, err: err}
	}
	own, err := c.own()
	if err == nil {
		err = c.files().Prepare()
	}
	if err != nil {
		return &exitError{code: exitOwn, err: err}
	}
	report, err := run(ctx, check.Options{
		Known: own, Installation: e.installation(), Command: command, Selection: c.selection(), Budget: c.budget(),
		Bundling: check.Bundling{Dir: c.Bundle, WithClassPath: c.WithClasspath, Limit: int64(c.BundleLimit)},
		For:      c.For, KillAfter: c.KillAfter, Out: c.Out, Say: c.saying(e),
		Stdin: os.Stdin, Stdout: direct(e.stdout), Stderr: direct(e.stderr), Logger: e.warnings(),
	})
	if err != nil {
		code := exitOwn
		if _, ok := errors.AsType[*check.NotStartedError](err); ok {
			if code = exitNotStarted; errors.Is(err, os.ErrPermission) {
				code = exitNotExecutable
			}
		}
		return &exitError{code: code, err: err}
	}
	return c.conclude(e, report)
}

// conclude prints and writes what was found.
func (c *checkCommand) conclude(e *env, report *check.Report) error {
	verdict := c.gate().Judge(report)
	say, err := e.say, error(nil)
	if c.JSON {
		say = func(string, ...any) {} // stderr is the report's
		err = writeJSON(e.stderr, report)
	} else {
		renderCheck(e.stderr, report, c.hint())
	}
	gate, failed := c.finish(say, report, verdict)
	if err := errors.Join(err, failed); err != nil {
		return &exitError{code: exitOwn, err: err}
	}
	if code := c.code(report, gate); code != exitOK {
		return &exitError{code: code}
	}
	return nil
}

// lacks says which option another one needs.
func (c *checkCommand) lacks() error {
	switch {
	case c.WithClasspath && c.Bundle == "":
		return errors.New("--with-classpath: name the folder of the bundles by --bundle")
	case c.KillAfter > 0 && c.For == 0:
		return errors.New("--kill-after: say by --for when the program is asked to end")
	}
	return nil
}

// saying tells what is done with a program whose time is over; --json has stderr for itself.
func (c *checkCommand) saying(e *env) func(line string) {
	if c.JSON {
		return nil
	}
	return func(line string) { e.say("misstep: %s", line) }
}

func (c *checkCommand) selection() check.Selection {
	return check.Selection{
		Checks: c.Checks, Walker: c.Walker, Profiler: c.Profiler.Profiler, Light: c.Light, Ratio: cmp.Or(c.Ratio, 1),
		Include: c.Include, Exclude: c.Exclude, WithoutLeaves: c.NoLeaves, Interval: c.Interval, Seed: c.Seed,
	}
}

// hint says how to get at a finding's stacks, where nothing keeps them.
func (c *checkCommand) hint() string {
	switch {
	case c.Bundle != "" || c.Out != "":
		return ""
	case c.AllJVMs || c.PID > 0:
		return "; --out DIR keeps their stacks"
	}
	return "; --bundle DIR keeps the stacks of each, and what repeats it"
}

func (c *checkCommand) budget() float64 {
	if c.Budget == nil {
		return defaultBudget
	}
	return float64(*c.Budget)
}

// code is the exit code: the program's own, unless that is 0 or Misstep itself ended the program; then it is the gate's.
func (c *checkCommand) code(r *check.Report, gate int) int {
	switch {
	case r.Stopped || c.PID > 0:
		return gate
	case r.Signal != 0:
		return 128 + r.Signal
	case r.ExitCode != exitOK:
		return r.ExitCode
	}
	return gate
}
