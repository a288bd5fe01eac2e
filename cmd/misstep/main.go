// Command misstep hunts rare bugs in the JVM's stack walkers and hands over reproducers.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"syscall"

	"github.com/alecthomas/kong"
)

// Exit codes that scripts rely on; README.md documents them per command.
const (
	exitOK        = 0
	exitFound     = 1 // run: a mismatch, crash or hang; replay: not reproduced
	exitCannot    = 2 // bad input, or it could not run
	exitAppFailed = 3 // run: the workload failed by itself
	exitVoid      = 4 // run: the trial proves nothing
)

// exitError carries an exit code out of a command; an empty message prints nothing.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A second Ctrl-C ends the process at once: after the first the default action is back.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// cli is the whole command line; each subcommand's Run method lives in a file of its own.
type cli struct {
	Hunt        huntCommand        `cmd:"" help:"Run a campaign on this machine, coordinator and runners embedded, and write a bundle per finding."`
	Run         runCommand         `cmd:"" help:"Run one recipe and print its outcome with the counts of every check."`
	Replay      replayCommand      `cmd:"" help:"Repeat a finding from its bundle: how often of how many tries."`
	Retest      retestCommand      `cmd:"" help:"Repeat findings on other JDK builds: fixed, still there, or at another rate."`
	Campaign    campaignCommand    `cmd:"" help:"Submit, list, show and stop campaigns."`
	Findings    findingsCommand    `cmd:"" help:"List and show findings, and write their bundles."`
	Reproduce   reproduceCommand   `cmd:"" help:"Go from a finding to a verified reproducer: amplify, minimise, bisect, bundle."`
	Coordinator coordinatorCommand `cmd:"" help:"Serve campaigns to runners."`
	Runner      runnerCommand      `cmd:"" help:"Run trials for a coordinator."`
	Jdk         jdkCommand         `cmd:"" help:"Manage the catalogue of JDK builds."`
	Workload    workloadCommand    `cmd:"" help:"Manage the catalogue of workloads."`
	Bundle      bundleCommand      `cmd:"" help:"Check and show bundles."`
	Corpus      corpusCommand      `cmd:"" help:"Share bundles between folders, coordinators and S3-compatible stores."`
	Sched       rest               `cmd:"" help:"Run a program under the perturbing scheduler; replay its log (needs sched_ext)."`
	VM          rest               `cmd:"" name:"vm" help:"Run a command in a virtual machine with sched_ext, in real or in virtual time."`
	Trial       trialCommand       `cmd:"" hidden:"" help:"The half of a trial inside a virtual machine."`
	Checks      checksCommand      `cmd:"" help:"List the checks, rules, void reasons and kinds of mismatches, with counters of a campaign or a run."`
	AgentInfo   agentCommand       `cmd:"" name:"agent" help:"Show what the validation agent takes."`
	Doctor      doctorCommand      `cmd:"" help:"Say what this machine can do, with a remedy for what it cannot."`

	Home       string `help:"Folder of the catalogues and caches (${home})." env:"MISSTEP_HOME" placeholder:"DIR"`
	SigningKey string `help:"SSH private key to sign the bundles with that are written." env:"MISSTEP_SIGNING_KEY" type:"path" placeholder:"FILE"`

	Agent string `help:"Folder of the agent artefacts (default: beside this binary)." env:"MISSTEP_AGENT" placeholder:"DIR"`
}

// run parses and executes one command line and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) > 0 && elsewhere[args[0]] != nil {
		return elsewhere[args[0]](ctx, args[1:], stdout, stderr)
	}
	var c cli
	code := -1
	parser, err := kong.New(
		&c,
		kong.Name("misstep"),
		kong.Description("Hunts rare bugs in the JVM's stack walkers: AsyncGetCallTrace, JVMTI GetStackTrace and the JFR samplers."),
		kong.UsageOnError(),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 120}),
		kong.Vars{"home": "default: $XDG_DATA_HOME/misstep or ~/.local/share/misstep"},
		kong.Writers(stdout, stderr),
		kong.Exit(func(c int) { code = c }),
		kong.BindTo(ctx, (*context.Context)(nil)),
	)
	if err != nil {
		fmt.Fprintln(stderr, "misstep:", err)
		return exitCannot
	}
	command, err := parser.Parse(args)
	if code >= 0 { // --help was asked for and printed
		return code
	}
	if err != nil {
		fmt.Fprintf(stderr, "misstep: %v\nSee misstep --help.\n", err)
		return exitCannot
	}
	err = command.Run(&env{cli: &c, stdout: stdout, stderr: stderr})
	var exit *exitError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &exit):
		if exit.err != nil {
			fmt.Fprintln(stderr, "misstep:", message(exit))
		}
		return exit.code
	default:
		fmt.Fprintln(stderr, "misstep:", message(err))
		return exitCannot
	}
}

var grpcPrefix = regexp.MustCompile(`rpc error: code = \w+ desc = `)

// message is an error's text for people, without gRPC's prefix.
func message(err error) string { return grpcPrefix.ReplaceAllString(err.Error(), "") }
