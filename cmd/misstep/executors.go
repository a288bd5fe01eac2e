package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"misstep/bpf"
	"misstep/deploy/vm"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
	"misstep/runner"
	"misstep/runner/guest"
	"misstep/runner/jvm"
	"misstep/runner/perturb"
)

// perturbers are the mechanisms by which trials of this host can be perturbed.
func perturbers() []perturb.Perturber {
	return []perturb.Perturber{perturb.Scheduler{}, perturb.Agent{}}
}

// route gives each recipe to the executor that it names: host itself, or a virtual machine with host's files. record is a new folder
// for a recording of the machine, or empty.
func (e *env) route(host *jvm.Executor, record string) (runner.Executor, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this binary: %w", err)
	}
	machines := &guest.Executor{
		JDK: host.JDK, Workload: host.Workload, Agent: host.Agent, Corpus: host.Corpus, Scratch: filepath.Join(host.Scratch, "machines"),
		PatchCache: host.PatchCache, Home: e.home(), Program: program, Command: []string{"trial"}, Record: record, Logger: e.warnings(),
	}
	var onHost runner.Executor = host
	if record != "" {
		onHost = machines // which says that a host cannot be recorded
	}
	return runner.Route(map[string]runner.Executor{runner.Host: onHost, guest.Shared: machines, guest.Deterministic: machines}), nil
}

// ordinary is the user whom JVMs run as where a scheduler can be loaded, which takes root and is no reason for the JVM to have it: who
// called sudo, else nobody. Nil elsewhere: JVMs run as this process does.
func ordinary() *syscall.Credential { return ordinaryOf(os.Getuid(), bpf.Supported()) }

// ordinaryOf is ordinary of a user and of what bpf.Supported says: where a scheduler is in force now, this process's may be the next.
func ordinaryOf(uid int, supported error) *syscall.Credential {
	if uid != 0 || supported != nil && !errors.Is(supported, bpf.ErrBusy) {
		return nil
	}
	const nobody = 65534
	user := syscall.Credential{Uid: nobody, Gid: nobody}
	caller, err1 := strconv.ParseUint(os.Getenv("SUDO_UID"), 10, 32)
	group, err2 := strconv.ParseUint(os.Getenv("SUDO_GID"), 10, 32)
	if err1 == nil && err2 == nil && caller != 0 {
		user.Uid, user.Gid = uint32(caller), uint32(group)
	}
	return &user
}

// capabilities of this machine, by which the coordinator places recipes.
func (e *env) capabilities(ctx context.Context, host *jvm.Executor) []string {
	return append(host.Capabilities(), e.executors(ctx)...)
}

// executors are what this machine has for trials beside plain ones.
func (e *env) executors(ctx context.Context) (all []string) {
	if takesTurns(bpf.Supported()) {
		all = append(all, string(recipe.SchedExt))
	}
	return append(all, guest.Available(vm.Doctor(ctx, e.home()))...)
}

// takesTurns says, of what bpf.Supported says, whether trials can have the kernel's scheduler: at once, or when it is their turn.
func takesTurns(supported error) bool { return supported == nil || errors.Is(supported, bpf.ErrTurn) }

// placeable says what a campaign takes that this machine lacks; a hunt has no other.
func (e *env) placeable(ctx context.Context, c *misstepv1.Campaign) error {
	perturb := c.GetPerturb()
	if len(perturb) == 0 {
		perturb = []*misstepv1.Perturbation{nil}
	}
	have := e.executors(ctx)
	for _, p := range perturb {
		if need := recipe.NeededCapability(c.GetExecutor(), p); !need.MetBy(have) {
			return fmt.Errorf("campaign %s: this machine has no %s, which trials of it take%s", c.GetName(), need, remedies[need])
		}
	}
	return nil
}

type trialCommand struct {
	Job string `arg:"" help:"File of the job." type:"existingfile"`
}

// Run is what a virtual machine runs of a trial.
func (c *trialCommand) Run(ctx context.Context) error {
	evidence := os.Getenv("MISSTEP_EVIDENCE")
	if evidence == "" {
		return errors.New("this command is run inside a virtual machine by the executors vm and vm-deterministic")
	}
	return guest.Main(ctx, c.Job, evidence, perturbers())
}
