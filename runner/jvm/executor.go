package jvm

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"misstep/agent"
	"misstep/corpus"
	"misstep/internal/sandbox"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
	"misstep/runner"
	"misstep/runner/perturb"
	"misstep/runner/process"
	"misstep/runner/recording"
	"misstep/runner/scratch"
	"misstep/workloads"
)

// Executor runs recipes on real JVMs; it is a runner.Executor. JDK, Workload and Scratch are required. Do not change a field after
// the first call.
type Executor struct {
	// JDK returns the JAVA_HOME and the feature version of the JDK that a recipe names, fetched and verified.
	JDK func(ctx context.Context, jdk *misstepv1.Jdk) (home string, feature int, err error)
	// Workload returns the folder and the manifest of the workload that a recipe names, fetched and verified.
	Workload func(ctx context.Context, workload *misstepv1.Workload) (dir string, manifest workloads.Manifest, err error)
	// Agent to load; without one (the zero value) only recipes without checks can run.
	Agent agent.Artefacts
	// Recording is the helper that reads recordings, for the checks that are judged from one; the zero value for none.
	Recording recording.Helper
	// Profilers is the folder of the libraries of profilers that a JDK does not contain; empty for none.
	Profilers string
	// Corpus takes the evidence; nil keeps none.
	Corpus corpus.Store
	// Scratch is the folder for the folders of trials.
	Scratch string
	// PatchCache is the folder for the agent's patch jars, one per JDK.
	PatchCache string
	// Perturbers for the recipes that ask for a perturbation, one for each mechanism.
	Perturbers []perturb.Perturber
	// Sandbox of the JVMs; nil is that of this process's policy.
	Sandbox *sandbox.Sandbox
	// Logger by default discards.
	Logger *slog.Logger

	// judges of the checks that the agent does not judge.
	judges []judge

	once    sync.Once
	area    *scratch.Area
	cgroups process.Cgroups
	err     error
}

var _ runner.Executor = (*Executor)(nil)

// Open creates the scratch area and reaps what dead runners left in it. Run calls it if nobody has called it before.
func (e *Executor) Open() error {
	e.once.Do(func() {
		if e.Logger == nil {
			e.Logger = slog.New(slog.DiscardHandler)
		}
		if e.Sandbox == nil {
			if e.Sandbox, e.err = sandbox.Current(); e.err != nil {
				return
			}
		}
		e.cgroups = process.DetectCgroups()
		e.area, e.err = scratch.Open(e.Scratch, e.cgroups, e.Logger)
		if e.err == nil && e.Sandbox.Box(sandbox.Needs{}).User() != nil { // who may traverse the folder but not list it
			e.err = os.Chmod(e.Scratch, 0o711)
		}
		e.Logger.Debug("trials run in", "folder", e.Scratch, "cgroups", e.cgroups.String(), "agent", e.Agent.Digest,
			"sandbox", e.Sandbox.String())
	})
	return e.err
}

// Capabilities returns the capabilities of this machine as a runner reports them.
func (e *Executor) Capabilities() []string {
	if process.DetectCgroups().Any() {
		return []string{string(recipe.Cgroup)}
	}
	return nil
}

// Run runs one recipe; see runner.Executor.
func (e *Executor) Run(
	ctx context.Context, recipe *misstepv1.Recipe, progress func(*misstepv1.Progress),
) (_ *misstepv1.Outcome, err error) {
	if err := e.Open(); err != nil {
		return nil, err
	}
	if progress == nil {
		progress = func(*misstepv1.Progress) {}
	}
	if err := e.accepts(recipe); err != nil {
		return nil, runner.Permanent(fmt.Errorf("run recipe: %w", err))
	}
	progress(&misstepv1.Progress{Phase: "fetch"})
	home, feature, err := e.JDK(ctx, recipe.GetJdk())
	if err != nil {
		return nil, fmt.Errorf("provide JDK %s: %w", recipe.GetJdk().GetName(), err)
	}
	dir, manifest, err := e.Workload(ctx, recipe.GetWorkload())
	if err != nil {
		return nil, fmt.Errorf("provide workload %s: %w", recipe.GetWorkload().GetName(), err)
	}
	if feature < manifest.MinFeature {
		return nil, runner.Permanent(fmt.Errorf("run workload %s: it requires JDK %d or newer, but %s is %d",
			manifest.Name, manifest.MinFeature, recipe.GetJdk().GetName(), feature))
	}
	folder, err := e.area.New()
	if err != nil {
		return nil, err
	}
	defer func() {
		if removed := folder.Remove(); removed != nil && err == nil {
			err = removed
		}
	}()
	t := newTrial(e, recipe, folder, home, feature)
	t.workload, t.manifest, t.report = dir, manifest, progress
	t.box = e.Sandbox.Box(t.needs())
	return t.run(ctx)
}

func newTrial(e *Executor, r *misstepv1.Recipe, folder *scratch.Folder, home string, feature int) *trial {
	return &trial{
		executor: e, recipe: r, limits: limitsOf(r.GetLimits()), home: home, feature: feature, folder: folder,
		name: filepath.Base(folder.Path), report: func(*misstepv1.Progress) {},
	}
}

// accepts returns an error if this executor cannot run the recipe.
func (e *Executor) accepts(r *misstepv1.Recipe) error {
	for _, flag := range r.GetJvmFlags() {
		if len(flag) < 2 || flag[0] != '-' {
			return fmt.Errorf("jvm_flags: %q does not begin with \"-\"; give one flag for each entry", flag)
		}
	}
	seen := map[string]bool{}
	for _, check := range r.GetChecks() {
		if !e.canJudge(check.GetName()) {
			return fmt.Errorf("checks: %q is unknown; there are %s", check.GetName(),
				strings.Join(recipe.Names(recipe.Checks()), ", "))
		}
		if seen[check.GetName()] {
			return fmt.Errorf("checks: %q is given twice", check.GetName())
		}
		seen[check.GetName()] = true
	}
	if recipe.NeedsAgent(r.GetChecks()) && e.Agent.Library == "" {
		return errors.New("it asks for checks, but this runner has no agent; build it with `make agent`")
	}
	if err := e.acceptsProfiler(r); err != nil {
		return err
	}
	if want := r.GetAgentDigest(); want != "" && want != e.Agent.Digest {
		return fmt.Errorf("it wants the agent %s, but this runner has %q; omit agent_digest or start the runner with that agent",
			want, e.Agent.Digest)
	}
	if p := r.GetPerturbation(); len(p.GetSeeds()) > 0 || len(p.GetRanges()) > 0 {
		return errors.New("perturbation: seeds and ranges belong in a campaign; a recipe has one seed and values in parameters")
	}
	if p := perturb.Of(r); p != nil {
		perturber, err := perturb.Find(e.Perturbers, p)
		if err != nil {
			return err
		}
		return perturber.Check(p)
	}
	return nil
}

// canJudge reports whether the agent or another judge gives the verdicts of a check.
func (e *Executor) canJudge(check string) bool {
	return slices.ContainsFunc((&trial{executor: e}).judges(), func(j judge) bool { return j.judges(check) })
}
