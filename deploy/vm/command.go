package vm

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"misstep/deploy/vm/kernel"
	"misstep/internal/home"
)

// Exit codes beside the command's own.
const (
	exitUsage   = 2   // bad arguments
	exitTimeout = 124 // --timeout or --guest-timeout; timeout(1) and misstep sched use this code so
	exitMachine = 125 // the machine failed, or the replay departed from its recording; docker and podman use this code so
)

const usage = `usage: misstep vm run [OPTIONS] -- COMMAND...   boot a kernel with sched_ext and run a command in it
       misstep vm replay [OPTIONS] DIR          repeat a recorded machine, instruction by instruction
       misstep vm kernel [--suite S] [--update] fetch the kernel if need be; say where it and its vmlinux.h are
       misstep vm doctor                        say what this host has for machines, with remedies
Options: misstep vm run --help. Exit code: the command's own; 124 after a timeout; 125 when the machine failed; 2 for bad arguments.
`

// Command runs `misstep vm ARGS` and returns its exit code. Interrupt and SIGTERM end the machine.
func Command(args []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return command(ctx, args, stdout, stderr)
}

func command(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		fmt.Fprint(stderr, usage)
		return exitUsage
	}
	switch args[0] {
	case "run":
		return runCommand(ctx, args[1:], stdout, stderr)
	case "replay":
		return replayCommand(ctx, args[1:], stdout, stderr)
	case "kernel":
		return kernelCommand(ctx, args[1:], stdout, stderr)
	case "doctor":
		return doctorCommand(ctx, stdout)
	case "help", "-h", "--help":
		fmt.Fprint(stdout, usage)
		return 0
	default:
		fmt.Fprintf(stderr, "misstep vm: no command %q\n%s", args[0], usage)
		return exitUsage
	}
}

func runCommand(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	c := Config{Mode: ModeShared, Home: home.Dir(), Log: logger(stderr)}
	var jres []string
	flags := flag.NewFlagSet("misstep vm run", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Func("mode", "`MODE`: vm (default: the host's root, real time) or vm-deterministic (virtual time, given files only)", func(s string) (err error) {
		c.Mode, err = ParseMode(s)
		return err
	})
	suiteFlag(flags, &c.Suite)
	flags.BoolVar(&c.Root, "root", false, "run the command as root, as loading BPF takes")
	flags.IntVar(&c.CPUs, "cpus", 0, "`N` CPUs; shared mode (default 2)")
	flags.IntVar(&c.Memory, "memory", 0, "`MIB` of memory (default 2048)")
	flags.Uint64Var(&c.Seed, "seed", 0, "`N`: seed of the machine's randomness; deterministic mode")
	flags.StringVar(&c.Dir, "dir", "", "working `FOLDER` in the guest (default: this one, or / in the deterministic mode)")
	flags.Func("env", "`NAME=VALUE` for the command's environment; repeatable", func(s string) error {
		if !strings.Contains(s, "=") {
			return errors.New("it has the form NAME=VALUE")
		}
		c.Env = append(c.Env, s)
		return nil
	})
	flags.Func("tree", "`HOST[:GUEST]`: folder or file for a deterministic guest, with the libraries its programs need; repeatable", func(s string) error {
		host, guest, _ := strings.Cut(s, ":")
		c.Trees = append(c.Trees, Tree{Host: host, Guest: guest})
		return nil
	})
	flags.Func("jre", "`JAVA_HOME`: its Java, reduced by jlink, for a deterministic guest; repeatable", func(s string) error {
		jres = append(jres, s)
		return nil
	})
	flags.Func("evidence", "`PATH` in the guest to bring out, beside all in /evidence; repeatable", func(s string) error {
		c.Evidence = append(c.Evidence, s)
		return nil
	})
	flags.StringVar(&c.EvidenceDir, "out", "", "`FOLDER` for the evidence and console.log")
	flags.StringVar(&c.Record, "record", "", "new `FOLDER` for a recording of the whole machine; deterministic mode")
	flags.StringVar(&c.Debug, "gdb", "", "`ADDRESS`, say tcp:127.0.0.1:1234, at which qemu waits for gdb before the first instruction")
	flags.DurationVar(&c.Limit, "timeout", 0, "`LIMIT` by the host's clock for all (default 10m)")
	flags.DurationVar(&c.GuestLimit, "guest-timeout", 0, "`LIMIT` by the guest's clock for the command")
	if code, done := parse(flags, args); done {
		return code
	}
	if flags.NArg() == 0 {
		fmt.Fprintln(stderr, "misstep vm run: no command given: misstep vm run [OPTIONS] -- COMMAND...")
		return exitUsage
	}
	for _, java := range jres {
		tree, err := JRE(ctx, c.Home, java, nil)
		if err != nil {
			fmt.Fprintln(stderr, "misstep", err)
			return exitMachine
		}
		c.Trees = append(c.Trees, tree)
		c.Env = append([]string{"JAVA_HOME=" + java}, c.Env...)
	}
	result, err := Boot(ctx, c, flags.Args(), stdout, stderr)
	return report(result, err, stderr)
}

func replayCommand(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	c := ReplayConfig{Log: logger(stderr)}
	flags := flag.NewFlagSet("misstep vm replay", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&c.EvidenceDir, "out", "", "`FOLDER` for the evidence and console.log")
	flags.StringVar(&c.Debug, "gdb", "", "`ADDRESS`, say tcp:127.0.0.1:1234, at which qemu waits for gdb before the first instruction")
	flags.DurationVar(&c.Limit, "timeout", 0, "`LIMIT` by the host's clock (default: by what was recorded, 30m at least; none with --gdb)")
	if code, done := parse(flags, args); done {
		return code
	}
	if flags.NArg() != 1 {
		fmt.Fprintln(stderr, "misstep vm replay: give one folder, as misstep vm run --record made it")
		return exitUsage
	}
	result, err := Replay(ctx, flags.Arg(0), c, stdout, stderr)
	return report(result, err, stderr)
}

func kernelCommand(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("misstep vm kernel", flag.ContinueOnError)
	flags.SetOutput(stderr)
	c := Config{Home: home.Dir(), Log: logger(stderr)}
	suiteFlag(flags, &c.Suite)
	update := flags.Bool("update", false, "look for a newer one")
	if code, done := parse(flags, args); done {
		return code
	}
	fetcher := c.kernels()
	get := fetcher.Get
	if *update {
		get = fetcher.Fetch
	}
	k, err := get(ctx)
	if err != nil {
		fmt.Fprintln(stderr, "misstep vm:", err)
		return exitMachine
	}
	header, err := k.Header(ctx)
	if err != nil {
		fmt.Fprintln(stderr, "misstep vm:", err)
		return exitMachine
	}
	fmt.Fprintf(stdout, "release %s\nimage %s\nelf %s\nconfig %s\nheader %s\n", k.Release, k.Image(), k.ELF(), k.Config(), header)
	return 0
}

func doctorCommand(ctx context.Context, stdout io.Writer) int {
	code := 0
	for _, c := range Doctor(ctx, home.Dir()) {
		state := "ok"
		switch {
		case !c.OK && c.Optional:
			state = "none"
		case !c.OK:
			state, code = "missing", 1
		}
		fmt.Fprintf(stdout, "%-8s %s: %s\n", state, c.Name, c.Detail)
		if c.Remedy != "" {
			fmt.Fprintf(stdout, "%-8s %s\n", "", c.Remedy)
		}
	}
	return code
}

func suiteFlag(flags *flag.FlagSet, suite *kernel.Suite) {
	flags.Func("suite", "`SUITE` of Debian whose newest kernel it is: sid (default), testing, trixie-backports or experimental", func(s string) (err error) {
		*suite, err = kernel.ParseSuite(s)
		return err
	})
}

// parse parses flags; done means that the command ends here with code.
func parse(flags *flag.FlagSet, args []string) (code int, done bool) {
	err := flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0, true
	case err != nil: // the flag package has told it
		return exitUsage, true
	}
	return 0, false
}

func report(result Result, err error, stderr io.Writer) int {
	for _, note := range result.Notes {
		fmt.Fprintln(stderr, "vm:", note)
	}
	if err != nil {
		fmt.Fprintln(stderr, "misstep", err)
		if errors.Is(err, ErrLimit) {
			return exitTimeout
		}
		return exitMachine
	}
	if result.TimedOut {
		fmt.Fprintf(stderr, "vm: the command was ended after %s of the guest's time\n", result.Run.Round(time.Millisecond))
		return exitTimeout
	}
	return result.Exit
}

func logger(stderr io.Writer) func(string, ...any) {
	return func(format string, args ...any) { fmt.Fprintf(stderr, "vm: "+format+"\n", args...) }
}
