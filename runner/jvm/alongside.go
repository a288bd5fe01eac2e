package jvm

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"

	"google.golang.org/protobuf/types/known/durationpb"

	"misstep/agent"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
	"misstep/runner"
	"misstep/runner/process"
	"misstep/runner/scratch"
)

// Alongside is a JVM that somebody else starts, with the agent and the profiler of a recipe in it: a program that is checked as it
// is. None of a trial's limits, folders and flags apply to it.
type Alongside struct {
	// Recipe says what is checked; its workload, flags and limits of time and memory mean nothing here. Its JDK's digest, or the
	// folder without one, tells one build from another.
	Recipe *misstepv1.Recipe
	// Home and Feature are the JVM's JAVA_HOME and feature version.
	Home    string
	Feature int
	// Budget is the share of a thread's CPU time that its entry checks may take, 0 for their share of method entries.
	Budget float64
	// Dir is an existing folder, absolute, to which the JVM's user can write.
	Dir string
}

// AgentDir is the folder for the agent's files among those of Alongside.Dir.
const AgentDir = dirAgent

// StatusFile is the name of the agent's flight record in AgentDir.
const StatusFile = fileStatus

// CrashFile is the name in Alongside.Dir below which Examine looks for the JVM's error file (hs_err).
const CrashFile = fileCrash

// WorkDir is the folder below Alongside.Dir in which Examine looks for what JFR leaves in a crashed JVM's working folder.
const WorkDir = dirWork

func (e *Executor) alongside(a Alongside) *trial {
	if e.Logger == nil {
		e.Logger = slog.New(slog.DiscardHandler)
	}
	t := newTrial(e, a.Recipe, &scratch.Folder{Path: a.Dir}, a.Home, a.Feature)
	t.budget = a.Budget
	return t
}

// Arm makes the folders in a.Dir and returns the arguments by which the JVM runs with the recipe's agent and profiler. They belong
// before the program's own arguments. An error means that the recipe cannot be checked on this JVM.
func (e *Executor) Arm(ctx context.Context, a Alongside) ([]string, error) {
	t := e.alongside(a)
	if err := e.accepts(a.Recipe); err != nil {
		return nil, runner.Permanent(err)
	}
	if err := t.makeFolders(); err != nil {
		return nil, err
	}
	args := preciseFrames()
	profiled, err := t.profile()
	if err != nil {
		return nil, err
	}
	args = append(args, profiled...)
	if len(profiled) > 0 {
		args = append(args, quietStart(a.Feature)...)
	}
	if !t.checked() {
		return args, nil
	}
	loaded, err := t.agent(ctx)
	if err != nil {
		return nil, err
	}
	return append(args, loaded...), nil
}

// ArmAny returns the arguments by which a JVM of any JDK runs with the recipe's agent, for an environment that several have. Each
// makes a folder below dir, named by its process, which is an Alongside.Dir. A recipe that needs a profiler, or methods to be
// instrumented, which takes a patch of the very JDK, is refused.
func (e *Executor) ArmAny(r *misstepv1.Recipe, dir string) ([]string, error) {
	if err := e.accepts(r); err != nil {
		return nil, err
	}
	options := agent.OptionsOf(r, filepath.Join(dir, "%p", AgentDir))
	if options.NeedsMethods() || options.Stacks > 0 || recipe.HasProfiler(r.GetProfiler()) {
		return nil, errors.New("JVMs of any JDK can be checked without instrumentation and profiler only")
	}
	loaded, err := agent.JVMArgs(e.Agent, "", leastFeature, options)
	if err != nil {
		return nil, err
	}
	return append(preciseFrames(), loaded...), nil
}

// leastFeature is the oldest JDK that has what arguments for any JDK need.
const leastFeature = 8

// preciseFrames are the flags without which compiled code has no bytecode index at most instructions.
func preciseFrames() []string {
	return []string{"-XX:+UnlockDiagnosticVMOptions", "-XX:+DebugNonSafepoints"}
}

// quietStart are the flags with which JFR does not say on stdout that it has started. 8 and 11 have none for it, and a JVM does not
// start with a tag of its log that it does not know.
func quietStart(feature int) []string {
	if feature < 17 {
		return nil
	}
	return []string{"-Xlog:jfr+startup=error"}
}

// Examine judges what a JVM left in a.Dir; ended says how it ended, and is zero where that is unknown. What the program returned is
// its own business: the outcome is never an application failure.
func (e *Executor) Examine(ctx context.Context, a Alongside, ended process.Result) (*misstepv1.Outcome, error) {
	t := e.alongside(a)
	t.ended = ended
	t.readStatus()
	outcome := &misstepv1.Outcome{
		ExitCode: int32(ended.ExitCode), Signal: int32(ended.Signal), // both are small
		Wall: durationpb.New(ended.Wall), Cpu: durationpb.New(ended.CPU), MaxRssBytes: ended.MaxRSS,
		Checks: t.counts(), Signals: t.signals(),
	}
	var err error
	if outcome.Crash, _, err = t.crash(ctx); err != nil {
		return nil, err
	}
	counts, mismatches, lost, err := t.judge(ctx)
	if err != nil {
		return nil, fmt.Errorf("judge what the JVM left in %s: %w", filepath.Base(a.Dir), err)
	}
	outcome.Checks, outcome.Mismatches = counts, mismatches
	if t.judging > 0 {
		outcome.Judging = durationpb.New(t.judging)
	}
	if c := outcome.GetCrash(); c != nil {
		outcome.Kind, outcome.Reason = misstepv1.OutcomeKind_OUTCOME_KIND_CRASH, CrashReason(c)
		return outcome, nil
	}
	return outcome, t.conclude(outcome, lost)
}

// KeepEvidence puts what explains an outcome of Examine into the executor's corpus and lists it in the outcome, which it bounds as
// a trial's.
func (e *Executor) KeepEvidence(ctx context.Context, a Alongside, outcome *misstepv1.Outcome) error {
	t := e.alongside(a)
	t.readStatus()
	return t.keepEvidence(ctx, outcome)
}
