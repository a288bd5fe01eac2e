package guest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"misstep/agent"
	"misstep/corpus"
	"misstep/deploy/vm"
	"misstep/internal/capped"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
	"misstep/runner"
	"misstep/runner/process"
	"misstep/runner/profiler"
	"misstep/runner/recording"
	"misstep/runner/scratch"
	"misstep/workloads"
)

const (
	// translationFactor is how much longer a trial may take in a machine whose instructions qemu translates;
	// deploy/vm/README.md has measured 5 to 16. With virtual time, limits count the guest's own seconds and need no such
	// factor.
	translationFactor = 10
	// hostSeconds is the maximum number of host seconds for one second of virtual time.
	hostSeconds = 60
	// bootLimit bounds everything but the trial: creating the machine, booting, copying the evidence out.
	bootLimit = 10 * time.Minute
	// guestMemory is the memory that a guest needs besides its JVM, in MiB: kernel, files, watchdog.
	guestMemory = 1024
	// helperMemory is what the files of the JDK of the helper that reads recordings need in addition, in MiB.
	helperMemory = 256
	// maxEvidence bounds the evidence of a guest in bytes.
	maxEvidence = 256 << 20
)

// Boot runs a command in a machine, as vm.Boot does.
type Boot func(ctx context.Context, c vm.Config, command []string, stdout, stderr io.Writer) (vm.Result, error)

// Executor runs recipes whose executor is Shared or Deterministic; it is a runner.Executor. Corpus, Record, Boot, Accelerator and
// Logger are optional. Do not change a field after the first call.
type Executor struct {
	// JDK and Workload as in jvm.Executor.
	JDK      func(ctx context.Context, jdk *misstepv1.Jdk) (home string, feature int, err error)
	Workload func(ctx context.Context, workload *misstepv1.Workload) (dir string, manifest workloads.Manifest, err error)
	// Agent to load; without one only recipes without checks can run.
	Agent agent.Artefacts
	// Recording and Profilers as in jvm.Executor.
	Recording recording.Helper
	Profilers string
	// Corpus takes the evidence; nil keeps none.
	Corpus corpus.Store
	// Scratch is the folder for the trials' folders.
	Scratch string
	// PatchCache is the folder for the agent's patch jars, which are made on the host because that is faster.
	PatchCache string
	// Home is Misstep's folder, with the kernel and the reduced JDKs.
	Home string
	// Program is this program's file, Command the subcommand that runs Main in the guest; the job's path is appended.
	Program string
	Command []string
	// Record is a new folder for a recording of the whole machine; empty for none. Deterministic machines only, for one trial.
	Record string
	// Boot by default vm.Boot, Accelerator by default vm.Accelerator.
	Boot        Boot
	Accelerator func(ctx context.Context, home string) (vm.Accel, error)
	// Logger by default discards.
	Logger *slog.Logger

	once sync.Once
	area *scratch.Area
	err  error
}

var _ runner.Executor = (*Executor)(nil)

// Run runs one recipe in a machine of its own; see runner.Executor.
func (e *Executor) Run(
	ctx context.Context, recipe *misstepv1.Recipe, progress func(*misstepv1.Progress),
) (_ *misstepv1.Outcome, err error) {
	if progress == nil {
		progress = func(*misstepv1.Progress) {}
	}
	if e.Record != "" && recipe.GetExecutor() != Deterministic {
		return nil, runner.Permanent(fmt.Errorf("record the machine: only executor %s can be recorded", Deterministic))
	}
	if x := recipe.GetExecutor(); x != Shared && x != Deterministic {
		return nil, runner.Permanent(fmt.Errorf("run recipe: executor %q does not boot virtual machines", x))
	}
	progress(&misstepv1.Progress{Phase: "fetch"})
	e.once.Do(func() { e.area, e.err = scratch.Open(e.Scratch, process.DetectCgroups(), e.Logger) }) // reaps what dead runners left
	if e.err != nil {
		return nil, e.err
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
	config, command, err := e.machine(ctx, recipe, folder.Path)
	if err != nil {
		return nil, err
	}
	progress(&misstepv1.Progress{Phase: "run"})
	boot := e.Boot
	if boot == nil {
		boot = vm.Boot
	}
	var output bytes.Buffer
	limited := capped.New(&output, maxOutput)
	result, err := boot(ctx, config, command, limited, limited)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if errors.Is(err, vm.ErrDied) && e.Record == "" {
		// The outcome is the last file that a guest writes, and the evidence is verified by its digests: if both are complete,
		// the trial was, and the machine died while it powered off.
		if outcome, err := collect(ctx, config.EvidenceDir, e.Corpus, result, output.String()); err == nil {
			return outcome, nil
		}
	}
	if err != nil {
		err = fmt.Errorf("run trial in a virtual machine: %w", err)
		if errors.Is(err, vm.ErrUnavailable) {
			err = runner.Permanent(err)
		}
		return nil, err
	}
	progress(&misstepv1.Progress{Phase: "collect"})
	return collect(ctx, config.EvidenceDir, e.Corpus, result, output.String())
}

// machine returns the configuration of a recipe's machine and the command to run in it.
func (e *Executor) machine(ctx context.Context, r *misstepv1.Recipe, folder string) (vm.Config, []string, error) {
	var none vm.Config
	home, feature, err := e.JDK(ctx, r.GetJdk())
	if err != nil {
		return none, nil, fmt.Errorf("provide JDK %s: %w", r.GetJdk().GetName(), err)
	}
	workload, _, err := e.Workload(ctx, r.GetWorkload())
	if err != nil {
		return none, nil, fmt.Errorf("provide workload %s: %w", r.GetWorkload().GetName(), err)
	}
	j := job{Jdk: home, Feature: feature, Workload: workload, Patches: e.PatchCache}
	var patch string
	identity := cmp.Or(r.GetJdk().GetDigest(), home)
	if recipe.NeedsAgent(r.GetChecks()) {
		if e.Agent.Library == "" {
			return none, nil, runner.Permanent(errors.New("run recipe: it asks for checks, but this runner has no agent; " +
				"build it with `make agent`"))
		}
		j.Agent = e.Agent.Dir
		java := filepath.Join(home, "bin", "java")
		if patch, err = agent.Prepare(ctx, e.Agent, java, feature, e.PatchCache, identity); err != nil {
			return none, nil, err
		}
	}
	limits := recipe.EffectiveLimits(r.GetLimits())
	wall := limits.GetWall().AsDuration()
	c := vm.Config{
		Home: e.Home, Root: true, Dir: "/", Memory: guestMemory + int(limits.GetMemoryMib()),
		EvidenceDir: filepath.Join(folder, "evidence"), MaxEvidence: maxEvidence, Record: e.Record, Log: e.log(ctx),
	}
	path := filepath.Join(folder, "job.json")
	if recipe.NeedsRecording(r.GetChecks()) {
		j.HelperJava, j.HelperJar = e.Recording.Java, e.Recording.Jar
	}
	p, err := profiler.Of(r)
	if err != nil {
		return none, nil, runner.Permanent(err)
	}
	if p != nil && p.Library() != "" {
		j.Profilers = e.Profilers
	}
	if r.GetExecutor() == Shared {
		c.Mode = vm.ModeShared
		accelerator := e.Accelerator
		if accelerator == nil {
			accelerator = vm.Accelerator
		}
		if c.Accel, err = accelerator(ctx, e.Home); err != nil {
			return none, nil, runner.Permanent(fmt.Errorf("run trial in a virtual machine: %w", err))
		}
		if c.Accel == vm.AccelTCG {
			wall *= translationFactor
		}
		c.Limit = bootLimit + 2*wall
	} else {
		c.Mode, c.Seed, c.Limit = vm.ModeDeterministic, r.GetSeed(), bootLimit+hostSeconds*wall
		jre, err := vm.JRE(ctx, e.Home, home, nil)
		if err != nil {
			return none, nil, err
		}
		// Fixed paths in the guest, so that the machine is the same whether the files came from a catalogue or a bundle.
		jre.Guest = placeJdk
		c.Trees = []vm.Tree{
			jre, {Host: workload, Guest: placeWorkload}, {Host: e.Program, Guest: placeProgram}, {Host: path, Guest: placeJob},
		}
		j.Jdk, j.Workload, j.Patches = placeJdk, placeWorkload, placePatches
		if j.Profilers != "" {
			j.Profilers = placeProfilers
			c.Trees = append(c.Trees, place(filepath.Join(e.Profilers, p.Library()), placeProfilers))
		}
		if j.HelperJar != "" {
			helper, err := vm.JRE(ctx, e.Home, filepath.Dir(filepath.Dir(j.HelperJava)), nil)
			if err != nil {
				return none, nil, err
			}
			helper.Guest = placeHelper
			c.Memory += helperMemory
			c.Trees = append(c.Trees, helper, place(j.HelperJar, placeRecording))
			j.HelperJava = filepath.Join(placeHelper, "bin", "java")
			j.HelperJar = filepath.Join(placeRecording, filepath.Base(j.HelperJar))
		}
		if j.Agent != "" {
			j.Agent = placeAgent
			c.Trees = append(c.Trees,
				place(e.Agent.Library, placeAgent), place(e.Agent.Jar, placeAgent), place(patch, placePatches))
		}
	}
	inside := proto.CloneOf(r)
	if c.Mode == vm.ModeDeterministic { // independent of the catalogue's name
		inside.Jdk = &misstepv1.Jdk{Name: fmt.Sprintf("jdk%d", feature), Digest: identity}
	}
	if inside.Limits == nil {
		inside.Limits = &misstepv1.Limits{}
	}
	inside.Limits.Wall = durationpb.New(wall)
	text, err := misstepv1.CanonicalRecipe(inside)
	if err != nil {
		return none, nil, runner.Permanent(err)
	}
	j.Recipe = json.RawMessage(text)
	if err := j.write(path); err != nil {
		return none, nil, err
	}
	program := e.Program
	if c.Mode == vm.ModeDeterministic {
		program, path = placeProgram, placeJob
	}
	return c, append(append([]string{program}, e.Command...), path), nil
}

// Paths of files in a deterministic guest.
const (
	placeProgram  = "/trial/misstep"
	placeJob      = "/trial/job.json"
	placeJdk      = "/trial/jdk"
	placeWorkload = "/trial/workload"
	placeAgent    = "/trial/agent"
	placePatches  = "/trial/patches"
	// placeHelper has the JDK of the helper that reads recordings, placeRecording its jar.
	placeHelper    = "/trial/helper"
	placeRecording = "/trial/recording"
	placeProfilers = "/trial/profilers"
)

// place returns the tree that puts a file into a folder of the guest, under its own name.
func place(file, folder string) vm.Tree {
	return vm.Tree{Host: file, Guest: filepath.Join(folder, filepath.Base(file))}
}

func (e *Executor) log(ctx context.Context) func(string, ...any) {
	if e.Logger == nil {
		return nil
	}
	return func(format string, args ...any) { e.Logger.InfoContext(ctx, fmt.Sprintf(format, args...)) }
}

// collect reads the guest's outcome or failure from the folder dir, verifies the evidence by its digests and puts it into the
// corpus. output is what the guest printed, for errors.
func collect(ctx context.Context, dir string, store corpus.Store, result vm.Result, output string) (*misstepv1.Outcome, error) {
	failure := &misstepv1.InfrastructureFailure{}
	switch err := readMessage(dir, fileFailure, failure); {
	case err == nil:
		err = fmt.Errorf("in the virtual machine: %s", failure.GetMessage())
		if failure.GetPermanent() {
			err = runner.Permanent(err)
		}
		return nil, err
	case !errors.Is(err, os.ErrNotExist):
		return nil, err
	}
	outcome := &misstepv1.Outcome{}
	if err := readMessage(dir, fileOutcome, outcome); err != nil {
		printed := strings.TrimSpace(output + " " + strings.Join(result.Notes, "; "))
		return nil, fmt.Errorf("the virtual machine wrote no outcome (exit code %d): %w: %s", result.Exit, err, printed)
	}
	if store == nil {
		outcome.Evidence = nil
		return outcome, nil
	}
	for _, e := range outcome.GetEvidence() {
		if err := keep(ctx, dir, store, e); err != nil {
			return nil, fmt.Errorf("keep evidence %q of the virtual machine: %w", e.GetName(), err)
		}
	}
	return outcome, nil
}

func keep(ctx context.Context, dir string, store corpus.Store, e *misstepv1.Evidence) error {
	digest, err := corpus.ParseDigest(e.GetDigest())
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(filepath.Join(dir, dirFiles))
	if err != nil {
		return err
	}
	defer root.Close()
	f, err := root.Open(e.GetName())
	if err != nil {
		return err
	}
	defer f.Close()
	_, size, err := store.Put(ctx, f, digest)
	if err == nil && uint64(max(0, size)) != e.GetSize() {
		err = fmt.Errorf("it has %d bytes, not %d", size, e.GetSize())
	}
	return err
}

// maxOutput bounds the kept part of a guest's output in bytes.
const maxOutput = 16 << 10

// Replay repeats a recorded trial, instruction by instruction, and returns the outcome of the repetition. The error wraps
// vm.ErrUnavailable if the recording cannot be replayed here, as with another version of qemu, and vm.ErrDeparted if the replay
// departed from the recording.
func Replay(ctx context.Context, recording string, store corpus.Store, c vm.ReplayConfig) (*misstepv1.Outcome, error) {
	if c.EvidenceDir == "" {
		evidence, err := os.MkdirTemp("", "misstep-replay-")
		if err != nil {
			return nil, fmt.Errorf("make folder for evidence: %w", err)
		}
		defer os.RemoveAll(evidence)
		c.EvidenceDir = evidence
	}
	var output bytes.Buffer
	limited := capped.New(&output, maxOutput)
	result, err := vm.Replay(ctx, recording, c, limited, limited)
	if err != nil {
		return nil, fmt.Errorf("replay the recorded machine: %w", err)
	}
	return collect(ctx, c.EvidenceDir, store, result, output.String())
}
