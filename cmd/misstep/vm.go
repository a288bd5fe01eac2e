package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"misstep/deploy/vm"
	"misstep/deploy/vm/kernel"
)

type vmCommand struct {
	Run    vmRun    `cmd:"" help:"Boot a kernel with sched_ext and run a command in it; its exit code is passed on."`
	Replay vmReplay `cmd:"" help:"Repeat a recorded machine, instruction by instruction."`
	Kernel vmKernel `cmd:"" help:"Fetch the kernel if necessary; print where it and its vmlinux.h are."`
	Doctor vmDoctor `cmd:"" help:"Report what this host has for virtual machines, with remedies."`
}

// suiteFlag chooses a kernel.
type suiteFlag struct {
	Suite string `help:"Debian suite whose newest kernel it is: sid, testing, trixie-backports or experimental." default:"sid"`
}

type vmRun struct {
	suiteFlag
	Mode         string        `help:"vm (the host's root, real time) or vm-deterministic (virtual time, given files only)." default:"vm"`
	Root         bool          `help:"Run the command as root, which loading BPF requires."`
	CPUs         int           `within:"[1,)" name:"cpus" help:"CPUs, in mode vm (default 2)." placeholder:"N"`
	Memory       int           `within:"[64,)" help:"Memory in MiB (default 2048)." placeholder:"MIB"`
	Seed         uint64        `within:"any" help:"Seed of the machine's randomness, in mode vm-deterministic." placeholder:"N"`
	Dir          string        `help:"Working folder in the guest (default: this one, or / in mode vm-deterministic)." placeholder:"DIR"`
	Env          []string      `help:"Variable of the command's environment; repeatable." sep:"none" placeholder:"NAME=VALUE"`
	Tree         []string      `help:"Folder or file for a deterministic guest, with the libraries that its programs need; repeatable." sep:"none" placeholder:"HOST[:GUEST]"`
	JRE          []string      `name:"jre" help:"Java home whose Java, reduced by jlink, a deterministic guest gets; repeatable." sep:"none" placeholder:"JAVA_HOME"`
	Evidence     []string      `help:"Path in the guest to bring out, besides all in /evidence; repeatable." sep:"none" placeholder:"PATH"`
	Out          string        `help:"Folder for the evidence and console.log." placeholder:"DIR"`
	Record       string        `help:"New folder for a recording of the whole machine, in mode vm-deterministic." placeholder:"DIR"`
	GDB          string        `address:"tcp:HOST:PORT" name:"gdb" help:"Address at which qemu waits for a debugger before the first instruction." placeholder:"tcp:127.0.0.1:1234"`
	Timeout      time.Duration `within:"(0s,)" help:"Limit on all, by the host's clock (default 10m)." placeholder:"DURATION"`
	GuestTimeout time.Duration `within:"(0s,)" help:"Limit on the command, by the guest's clock." placeholder:"DURATION"`
	Command      []string      `arg:"" optional:"" passthrough:"partial" help:"Command line to run, after --."`
}

// Run boots a machine.
func (c *vmRun) Run(ctx context.Context, e *env) error {
	command := afterDashes(c.Command)
	if len(command) == 0 {
		return errors.New("no command given: misstep vm run [FLAGS] -- COMMAND")
	}
	config, err := c.config(e)
	if err != nil {
		return err
	}
	for _, java := range c.JRE {
		tree, err := vm.JRE(ctx, config.Home, java, nil)
		if err != nil {
			return &exitError{code: exitOwn, err: err}
		}
		config.Trees = append(config.Trees, tree)
		config.Env = append([]string{"JAVA_HOME=" + java}, config.Env...)
	}
	result, err := vm.Boot(ctx, config, command, direct(e.stdout), direct(e.stderr))
	return vmExit(e, result, err)
}

func (c *vmRun) config(e *env) (vm.Config, error) {
	config := vm.Config{
		Home: e.installation().Home, Root: c.Root, CPUs: c.CPUs, Memory: c.Memory, Seed: c.Seed, Dir: c.Dir, Env: c.Env,
		Evidence:    c.Evidence,
		EvidenceDir: c.Out, Record: c.Record, Debug: c.GDB, Limit: c.Timeout, GuestLimit: c.GuestTimeout, Log: vmLog(e),
	}
	var err error
	if config.Mode, err = vm.ParseMode(c.Mode); err != nil {
		return config, fmt.Errorf("--mode: %w", err)
	}
	if config.Suite, err = kernel.ParseSuite(c.Suite); err != nil {
		return config, fmt.Errorf("--suite: %w", err)
	}
	for _, variable := range c.Env {
		if !strings.Contains(variable, "=") {
			return config, fmt.Errorf("--env %s: want NAME=VALUE", variable)
		}
	}
	for _, tree := range c.Tree {
		host, guest, _ := strings.Cut(tree, ":")
		config.Trees = append(config.Trees, vm.Tree{Host: host, Guest: guest})
	}
	return config, nil
}

type vmReplay struct {
	Recording string        `arg:"" help:"Folder of a recording, made by misstep vm run --record." placeholder:"DIR"`
	Out       string        `help:"Folder for the evidence and console.log." placeholder:"DIR"`
	GDB       string        `address:"tcp:HOST:PORT" name:"gdb" help:"Address at which qemu waits for a debugger before the first instruction." placeholder:"tcp:127.0.0.1:1234"`
	Timeout   time.Duration `within:"(0s,)" help:"Limit by the host's clock (default: by what was recorded, 30m at least; none with --gdb)." placeholder:"DURATION"`
}

// Run replays.
func (c *vmReplay) Run(ctx context.Context, e *env) error {
	config := vm.ReplayConfig{EvidenceDir: c.Out, Debug: c.GDB, Limit: c.Timeout, Log: vmLog(e)}
	result, err := vm.Replay(ctx, c.Recording, config, direct(e.stdout), direct(e.stderr))
	return vmExit(e, result, err)
}

type vmKernel struct {
	suiteFlag
	Update bool `help:"Look for a newer one."`
}

// Run fetches.
func (c *vmKernel) Run(ctx context.Context, e *env) error {
	suite, err := kernel.ParseSuite(c.Suite)
	if err != nil {
		return fmt.Errorf("--suite: %w", err)
	}
	k, err := vm.Kernel(ctx, vm.Config{Home: e.installation().Home, Suite: suite, Log: vmLog(e)}, c.Update)
	if err != nil {
		return &exitError{code: exitOwn, err: err}
	}
	header, err := k.Header(ctx)
	if err != nil {
		return &exitError{code: exitOwn, err: err}
	}
	fmt.Fprintf(e.stdout, "release %s\nimage %s\nelf %s\nconfig %s\nheader %s\n", k.Release, k.Image(), k.ELF(), k.Config(), header)
	return nil
}

type vmDoctor struct{}

// Run examines the host.
func (c *vmDoctor) Run(ctx context.Context, e *env) error {
	missing := false
	for _, check := range vm.Doctor(ctx, e.installation().Home) {
		state := "ok"
		switch {
		case !check.OK && check.Optional:
			state = "none"
		case !check.OK:
			state, missing = "missing", true
		}
		fmt.Fprintf(e.stdout, "%-8s %s: %s\n", state, check.Name, check.Detail)
		if check.Remedy != "" {
			fmt.Fprintf(e.stdout, "%-8s %s\n", "", check.Remedy)
		}
	}
	if missing {
		return &exitError{code: exitFound}
	}
	return nil
}

// vmExit turns the end of a machine into that of the command.
func vmExit(e *env, result vm.Result, err error) error {
	for _, note := range result.Notes {
		e.say("vm: %s", note)
	}
	switch {
	case errors.Is(err, vm.ErrLimit):
		return &exitError{code: exitTimeout, err: err}
	case err != nil:
		return &exitError{code: exitOwn, err: err}
	case result.TimedOut:
		e.say("vm: the command was stopped after %s of the guest's time", result.Run.Round(time.Millisecond))
		return &exitError{code: exitTimeout}
	case result.Exit != 0:
		return &exitError{code: result.Exit}
	}
	return nil
}

func vmLog(e *env) func(string, ...any) {
	return func(format string, args ...any) { e.say("vm: "+format, args...) }
}
