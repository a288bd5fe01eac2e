// Command misstep hunts rare bugs in the JVM's stack walkers and packages each as a reproducible bundle.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"misstep/app"
	"misstep/app/observe"
	"misstep/app/sharing"
	"misstep/app/station"
	"misstep/coordinator/access"
	"misstep/deploy/jdk"
)

func main() {
	os.Exit(run(untilSignal(), os.Args[1:], os.Stdout, os.Stderr))
}

// cli is the whole command line; each subcommand's Run method lives in a file of its own.
type cli struct {
	Quickstart  quickstartCommand  `cmd:"" help:"Hunt for a minute on the JDKs of this machine."`
	Hunt        huntCommand        `cmd:"" help:"Run a campaign on this machine, with coordinator and runners embedded, and write a bundle for each finding."`
	Run         runCommand         `cmd:"" help:"Run one recipe and print its outcome with the counts of every check."`
	Check       checkCommand       `cmd:"" help:"Run any Java program as it is and report whether the JVM's stack walkers, and with them its profile, are right."`
	Outcome     outcomeCommand     `cmd:"" help:"Report what the agent found in a JVM to which it was given by hand."`
	Replay      replayCommand      `cmd:"" help:"Repeat a finding from its bundle and report how many tries showed it."`
	Retest      retestCommand      `cmd:"" help:"Repeat findings on other JDK builds: fixed, still there, or at another rate."`
	Compare     compareCommand     `cmd:"" help:"Compare two builds of a JDK or of a profiler by trials in turn: better, worse, the same, undecided."`
	Campaign    campaignCommand    `cmd:"" help:"Submit, list, show and stop campaigns."`
	Schedule    scheduleCommand    `cmd:"" help:"List, pause and remove schedules, which submit campaigns again and again."`
	Findings    findingsCommand    `cmd:"" help:"List and show findings, and write their bundles."`
	Web         webCommand         `cmd:"" help:"Serve the pages of a hunt's or coordinator's folder for a browser."`
	Known       knownCommand       `cmd:"" help:"Keep a catalogue of one's own known bugs beside the built-in one."`
	Triage      triageCommand      `cmd:"" help:"Identify crash reports and thread dumps of any JVM: the id, the known bug, the reasons, the nearest findings."`
	Jfr         jfrCommand         `cmd:"" help:"Check and compare recordings that somebody has, without a campaign."`
	Reproduce   reproduceCommand   `cmd:"" help:"Go from a finding to a verified reproducer: amplify, minimise, bisect, bundle."`
	Coordinator coordinatorCommand `cmd:"" help:"Serve campaigns to runners."`
	Runner      runnerCommand      `cmd:"" help:"Run trials for a coordinator."`
	Fleet       fleetCommand       `cmd:"" help:"Run coordinators and runners on a Nomad cluster."`
	Store       storeCommand       `cmd:"" help:"Copy, back up, restore and tidy up a coordinator's store."`
	Login       loginCommand       `cmd:"" help:"Log in at a coordinator, by the page of its OpenID provider."`
	Logout      logoutCommand      `cmd:"" help:"Forget the login at a coordinator, and end it at the provider."`
	Whoami      whoamiCommand      `cmd:"" help:"Show who a coordinator takes this user for, and what they may do there."`
	Token       tokenCommand       `cmd:"" help:"Make, list and revoke tokens, by which scripts and runners call a coordinator."`
	Access      accessCommand      `cmd:"" help:"Grant roles at a coordinator to people and groups."`
	Quota       quotaCommand       `cmd:"" help:"Bound how many runners, trials and how much evidence projects and people use."`
	Audit       auditCommand       `cmd:"" help:"Show who did what at a coordinator, from where, and what was refused."`
	PKI         pkiCommand         `cmd:"" name:"pki" help:"Keep an authority in a folder that signs certificates of coordinators and runners."`
	Runners     runnersCommand     `cmd:"" help:"List the runners that call a coordinator, and trust owners again whose runners were set aside."`
	Jdk         jdkCommand         `cmd:"" help:"Manage the catalogue of JDK builds."`
	Workload    workloadCommand    `cmd:"" help:"Manage the catalogue of workloads."`
	Bundle      bundleCommand      `cmd:"" help:"Verify, show, compare, sign and unpack bundles."`
	Corpus      corpusCommand      `cmd:"" help:"Share bundles between folders, coordinators and S3-compatible stores."`
	Sched       schedCommand       `cmd:"" help:"Run a program under the perturbing scheduler and replay its log (requires sched_ext)."`
	VM          vmCommand          `cmd:"" name:"vm" help:"Run a command in a virtual machine with sched_ext, in real or in virtual time."`
	Sweep       sweepCommand       `cmd:"" hidden:"" help:"Remove what a fleet has left on this machine; runs on its nodes."`
	Trial       trialCommand       `cmd:"" hidden:"" help:"The part of a trial inside a virtual machine."`
	Checks      checksCommand      `cmd:"" help:"List the checks, rules, void reasons and kinds of mismatches, with the counters of a campaign or run."`
	AgentInfo   agentCommand       `cmd:"" name:"agent" help:"Show the options of the validation agent."`
	Doctor      doctorCommand      `cmd:"" help:"Report what this machine can do, with a remedy for what it cannot."`
	Notify      notifyCommand      `cmd:"" help:"Send a sample message to every target of a file of notification targets."`
	Completion  completionCommand  `cmd:"" help:"Print the code that enables completion in a shell."`

	Home       string `help:"Folder of the catalogues and caches (${home})." env:"MISSTEP_HOME" placeholder:"DIR"`
	SigningKey string `help:"SSH private key used to sign new bundles." env:"MISSTEP_SIGNING_KEY" type:"path" placeholder:"FILE"`

	Version versionFlag `help:"Print the version, the commit, Go's version and that of the agent's interface."`

	sandboxFlags

	Agent string `help:"Folder of the agent artefacts (default: beside this binary)." env:"MISSTEP_AGENT" placeholder:"DIR"`
}

// run parses and executes one command line and returns the exit code. Output that could not be written is no success.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	out, messages := &output{Writer: stdout}, &output{Writer: stderr}
	code := dispatch(ctx, args, out, messages)
	out.end()
	messages.end()
	if out.failed == nil || code == exitFailed {
		return code
	}
	fmt.Fprintln(stderr, "misstep: the output is not whole:", out.failed)
	return cmp.Or(code, exitFailed)
}

func dispatch(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var c cli
	code := -1
	parser, err := newParser(ctx, &c, stdout, stderr, func(c int) { code = c })
	if err != nil {
		fmt.Fprintln(stderr, "misstep:", err)
		return exitFailed
	}
	if complete(parser); code >= 0 {
		return code
	}
	command, err := parser.Parse(args)
	if code >= 0 { // --help was asked for and printed
		return code
	}
	if err == nil {
		err = checkGiven(command)
	}
	if err != nil {
		if parse, ok := errors.AsType[*kong.ParseError](err); ok {
			command = parse.Context
			err = explainNegative(parse, args)
		}
		path := "misstep"
		if command != nil && command.Command() != "" {
			path += " " + commandPath(command)
		}
		fmt.Fprintf(stderr, "misstep: %v\nSee %s --help.\n", err, path)
		if strings.HasPrefix(path, "misstep sched") || path == "misstep check" {
			return exitOwn
		}
		return exitFailed
	}
	c.use()
	e := &env{cli: &c, stdout: stdout, stderr: stderr}
	stopTracing, err := observe.StartTracing(ctx, "misstep-"+strings.Fields(command.Command())[0], e.warnings())
	if err == nil {
		err = command.Run(e)
		stopTracing()
	}
	if code >= 0 {
		return code
	}
	if err == nil {
		return exitOK
	}
	exit, ok := errors.AsType[*exitError](err)
	if !ok {
		exit = &exitError{code: exitFailed, err: err}
	}
	if errors.Is(exit.err, context.Canceled) && ctx.Err() != nil {
		exit.err = app.ErrInterrupted
	}
	if exit.err != nil {
		fmt.Fprintln(stderr, "misstep:", app.Message(exit))
	}
	return exit.code
}

// newParser makes the parser of the command line. exit is called when printing help or a completion ends the process.
func newParser(ctx context.Context, c *cli, stdout, stderr io.Writer, exit func(int)) (*kong.Kong, error) {
	return kong.New(
		c,
		kong.Name("misstep"),
		kong.Description(
			"Hunts rare bugs in the JVM's stack walkers: AsyncGetCallTrace, JVMTI GetStackTrace and the JFR samplers.",
		),
		kong.UsageOnError(),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 120}),
		kong.ValueFormatter(helpWithDefault),
		kong.Help(helpWithExitCodes),
		kong.Vars{
			"home": "default: $XDG_DATA_HOME/misstep or ~/.local/share/misstep", "location": sharing.LocationHelp,
			"bucket":  station.BucketHelp,
			"sources": jdk.SourceForms,
			"roles":   strings.Join(access.RoleNames(), ", "),
		},
		kong.TypeMapper(reflect.TypeFor[time.Duration](), kong.MapperFunc(timeMapper)),
		kong.NamedMapper("path", pathMapper{kong.NewRegistry().RegisterDefaults()}),
		kong.Writers(stdout, stderr),
		kong.Exit(exit),
		kong.BindTo(ctx, (*context.Context)(nil)),
	)
}
