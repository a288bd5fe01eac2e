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

// Command runs `misstep vm ARGS` and returns its exit code: the command's own for run and replay, 125 when the machine failed, 2 for bad
// arguments.
func Command(args []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return command(ctx, args, stdout, stderr)
}

// Exit codes beside the command's.
const (
	exitUsage   = 2
	exitMachine = 125
)

const usage = `usage: misstep vm run [OPTIONS] -- COMMAND...
`

func command(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) == 1 && args[0] == "kernel" {
		return kernelCommand(ctx, stdout, stderr)
	}
	if len(args) == 2 && args[0] == "replay" {
		result, err := Replay(ctx, args[1], ReplayConfig{}, stdout, stderr)
		if err != nil {
			fmt.Fprintln(stderr, "misstep", err)
			return exitMachine
		}
		return result.Exit
	}
	if len(args) == 0 || args[0] != "run" {
		fmt.Fprint(stderr, usage)
		return exitUsage
	}
	c := Config{Mode: ModeShared, Log: func(format string, args ...any) { fmt.Fprintf(stderr, "vm: "+format+"\n", args...) }}
	flags := flag.NewFlagSet("vm run", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Func("mode", "shared or deterministic", func(s string) (err error) { c.Mode, err = ParseMode(s); return err })
	flags.BoolVar(&c.Root, "root", false, "run the command as root")
	flags.IntVar(&c.CPUs, "cpus", 0, "CPUs of a shared machine (2)")
	flags.IntVar(&c.Memory, "memory", 0, "MiB of memory (2048)")
	flags.Uint64Var(&c.Seed, "seed", 0, "seed of a deterministic machine")
	flags.StringVar(&c.Dir, "dir", "", "working folder in the guest")
	flags.StringVar(&c.EvidenceDir, "out", "", "folder for evidence")
	flags.StringVar(&c.Record, "record", "", "folder for a recording")
	flags.DurationVar(&c.Limit, "timeout", 10*time.Minute, "limit by the host's clock")
	flags.Func("env", "NAME=VALUE", func(s string) error { c.Env = append(c.Env, s); return nil })
	flags.Func("evidence", "path in the guest to bring out", func(s string) error { c.Evidence = append(c.Evidence, s); return nil })
	flags.Func("tree", "HOST[:GUEST]", func(s string) error {
		host, guest, _ := strings.Cut(s, ":")
		c.Trees = append(c.Trees, Tree{Host: host, Guest: guest})
		return nil
	})
	if err := flags.Parse(args[1:]); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return exitUsage
	}
	if c.Mode == ModeDeterministic {
		c.CPUs = 0
	}
	result, err := Boot(ctx, c, flags.Args(), stdout, stderr)
	for _, note := range result.Notes {
		fmt.Fprintln(stderr, "vm:", note)
	}
	if err != nil {
		fmt.Fprintln(stderr, "misstep", err)
		return exitMachine
	}
	return result.Exit
}

// kernelCommand fetches the kernel if need be and prints where its parts are.
func kernelCommand(ctx context.Context, stdout, stderr io.Writer) int {
	c := Config{Home: home.Dir()}
	k, err := kernel.Fetcher{Cache: c.cache("kernel"), Log: func(format string, args ...any) { fmt.Fprintf(stderr, "vm: "+format+"\n", args...) }}.Get(ctx)
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
