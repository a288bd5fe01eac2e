// Package perturb disturbs the order in which the threads of a trial's JVM run, and reports what it did.
//
// A recipe asks for a strategy with a seed and parameters, and for a mechanism that carries it out. There is a Perturber for each
// mechanism; the strategies, their parameters and the meaning of a seed are the same for all.
package perturb

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	misstepv1 "misstep/proto/misstep/v1"
)

// Perturber carries out perturbations by one mechanism. It is safe for concurrent use.
type Perturber interface {
	// Mechanism returns the name that recipes use for it.
	Mechanism() string
	// Check returns an error if a perturbation is invalid on any machine: an unknown strategy, a parameter out of its range.
	Check(p *misstepv1.Perturbation) error
	// Begin prepares the perturbation of one trial. Where a machine can have only one perturbation at a time, it waits until
	// that is possible or ctx ends. The error is an infrastructure failure that names the remedy, permanent if this machine can
	// never perturb.
	Begin(ctx context.Context, t Trial) (Session, error)
}

// Trial is what a Perturber needs to know about a trial.
type Trial struct {
	// Perturbation with its seed filled in; it disturbs something.
	Perturbation *misstepv1.Perturbation
	// Command of the JVM, for the log.
	Command []string
	// AgentOut is the agent's output folder.
	AgentOut string
	// Log receives the schedule log: the decisions made, in the format of bpf/README.md.
	Log io.Writer
	// Dump receives the kernel's debug dump when it ejects the scheduler for an error or a stall, at most 32 KiB of text.
	Dump io.Writer
}

// Session is the perturbation of one trial. The caller calls Start once or twice, then always End, once.
type Session interface {
	// Start starts the command under the perturbation. The caller's goroutine is locked to a thread that outlives the command.
	Start(cmd *exec.Cmd) error
	// Over returns a channel that is closed when the perturbation is no longer in force: ejected before End, or ended by it.
	Over() <-chan struct{}
	// End ends the perturbation, whether or not the command still runs, and reports what the perturbation did.
	End() (*misstepv1.PerturbationReport, error)
}

// Of returns a recipe's perturbation with its seed and its mechanism filled in, or nil if the recipe asks for none.
func Of(r *misstepv1.Recipe) *misstepv1.Perturbation {
	p := r.GetPerturbation()
	if !misstepv1.Disturbs(p.GetStrategy()) {
		return nil
	}
	out := &misstepv1.Perturbation{
		Strategy: p.GetStrategy(), Seed: p.GetSeed(), Parameters: p.GetParameters(), Mechanism: p.GetMechanism(),
	}
	if out.Seed == 0 {
		out.Seed = r.GetSeed()
	}
	if out.Mechanism == "" {
		out.Mechanism = misstepv1.MechanismScheduler
	}
	return out
}

// Nothing returns the report of a trial without a perturbation.
func Nothing() *misstepv1.PerturbationReport {
	return &misstepv1.PerturbationReport{Strategy: misstepv1.StrategyNone, Kernel: Kernel()}
}

// Idle returns the reason why a report proves nothing, or "" if the perturbation did something.
func Idle(r *misstepv1.PerturbationReport) string {
	if r.GetStrategy() == misstepv1.StrategyNone {
		return ""
	}
	for _, n := range r.GetApplied() {
		if n > 0 {
			return ""
		}
	}
	return fmt.Sprintf("perturbation %s did nothing in %d decisions about %d threads",
		r.GetStrategy(), r.GetDecisions(), r.GetThreads())
}

// Find returns the Perturber of a perturbation's mechanism. The error lists the available mechanisms.
func Find(perturbers []Perturber, p *misstepv1.Perturbation) (Perturber, error) {
	i := slices.IndexFunc(perturbers, func(x Perturber) bool { return x.Mechanism() == p.GetMechanism() })
	if i >= 0 {
		return perturbers[i], nil
	}
	var names []string
	for _, x := range perturbers {
		names = append(names, x.Mechanism())
	}
	if len(names) == 0 {
		names = []string{"none"}
	}
	return nil, fmt.Errorf("perturbation: this runner has no mechanism %q; it has %s",
		p.GetMechanism(), strings.Join(names, ", "))
}

// Kernel returns the release of the running kernel.
func Kernel() string {
	var uname unix.Utsname
	_ = unix.Uname(&uname)
	return unix.ByteSliceToString(uname.Release[:])
}
