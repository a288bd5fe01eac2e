package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"time"

	"misstep/app/check"
)

type checkCommand struct {
	Profiler profilerFlag  `help:"Run with this profiler and judge its recording: jfr or async-profiler, then the interval between samples and options if there are any, as in jfr,1ms or async-profiler,1ms,cstack=vmx." placeholder:"NAME[,INTERVAL][,OPTION]…" predictor:"profiler"`
	Checks   []string      `help:"Checks to make in place of those that fit, each with its share if it is not the default (misstep checks lists them)." placeholder:"CHECK[=SHARE],…"`
	Light    bool          `help:"Instrument nothing: brackets, edges and recordings only, at little cost."`
	Ratio    float64       `within:"(0,1]" help:"Share of methods that are instrumented." default:"1" placeholder:"SHARE"`
	Include  []string      `help:"Instrument only methods of these names: patterns of package.Class.method, * for any run of characters." placeholder:"PATTERN,…"`
	Exclude  []string      `help:"Instrument no methods of these names." placeholder:"PATTERN,…"`
	Interval time.Duration `within:"[10us,1m]" help:"Time between two signals of the agent's sampler (default: 1ms; 20ms with --light)." placeholder:"DURATION"`
	Seed     uint64        `within:"any" help:"Seed of the choice of methods, of entry checks and of the sampler." default:"1"`
	For      time.Duration `within:"(0s,)" help:"Ask the program to end (SIGTERM) after this time." placeholder:"DURATION"`
	Out      string        `help:"Keep what was observed in this folder, new or empty." type:"path" placeholder:"DIR"`
	FailOn   string        `help:"Exit with code 121 when there is a finding, or new: one that is no known bug; and with 122 when nothing was proved. Only where the program itself returned 0." enum:",finding,new" default:"" placeholder:"finding|new"`
	JSON     bool          `name:"json" help:"Print the report as JSON, on stderr: {command, jdk, outcome, checks, profiles, bugs, notes, …}."`
	Command  []string      `arg:"" passthrough:"" help:"Command that starts the JVM, after --, as in: misstep check -- java -jar app.jar."`
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
	if len(command) == 0 {
		return &exitError{code: exitOwn, err: errors.New("give the program's command after --, such as java -jar app.jar")}
	}
	report, err := check.Run(ctx, check.Options{
		Installation: e.installation(), Command: command, Selection: c.selection(), For: c.For, Out: c.Out,
		Stdin: os.Stdin, Stdout: e.stdout, Stderr: e.stderr, Logger: e.warnings(),
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
	if c.JSON {
		enc := json.NewEncoder(e.stderr)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		err = enc.Encode(report)
	} else {
		renderCheck(e.stderr, report)
	}
	if err != nil {
		return &exitError{code: exitOwn, err: err}
	}
	if code := c.code(report); code != exitOK {
		return &exitError{code: code}
	}
	return nil
}

func (c *checkCommand) selection() check.Selection {
	return check.Selection{
		Checks: c.Checks, Profiler: c.Profiler.Profiler, Light: c.Light, Ratio: c.Ratio, Include: c.Include, Exclude: c.Exclude,
		Interval: c.Interval, Seed: c.Seed,
	}
}

// code is the exit code: the program's own, unless it is 0 and --fail-on asks for more.
func (c *checkCommand) code(r *check.Report) int {
	switch {
	case r.Signal != 0:
		return 128 + r.Signal
	case r.ExitCode != exitOK:
		return r.ExitCode
	case c.FailOn == "":
		return exitOK
	case c.FailOn == "finding" && r.Found() || r.New():
		return exitFinding
	case !r.Proved():
		return exitUnproved
	}
	return exitOK
}
