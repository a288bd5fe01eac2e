// Package trial runs one JVM with one workload for a benchmark, with or without the agent and the fault injector, and measures it.
//
// A runner does more (limits, hang detection, evidence); a benchmark needs the bare run, the same with and without the agent.
package trial

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"misstep/agent"
	"misstep/deploy/jdk"
	"misstep/deploy/jdk/preset"
	"misstep/internal/faults"
	"misstep/internal/home"
	"misstep/internal/tied"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/workloads"
)

// Bed holds what all runs of a benchmark share: the catalogue, the agent, a folder for their files.
type Bed struct {
	JDKs     []jdk.Entry
	Agent    agent.Artefacts
	Injector string
	// Dir is the folder for the runs' files; the caller removes it.
	Dir string

	jdks      *jdk.Catalogue
	workloads *workloads.Catalogue
	count     atomic.Int64
}

// Open finds the catalogue and the agent that make agent built below root.
func Open(root, dir string) (*Bed, error) {
	artefacts, err := agent.Find(filepath.Join(root, "build", "agent"))
	if err != nil {
		return nil, err
	}
	injector := filepath.Join(filepath.Dir(artefacts.Dir), "agent-injector", faults.LibraryName)
	b := &Bed{Agent: artefacts, Injector: injector, Dir: dir}
	if _, err := os.Stat(b.Injector); err != nil {
		return nil, fmt.Errorf("find the injector: %w (build it with: make agent)", err)
	}
	b.jdks = jdk.Open(home.Dir())
	if b.JDKs, err = b.jdks.List(); err != nil {
		return nil, fmt.Errorf("list the catalogue's JDKs: %w", err)
	}
	if len(b.JDKs) == 0 {
		return nil, errors.New("the catalogue has no JDK; fill it with make catalogue")
	}
	b.workloads = workloads.Open(home.Dir())
	return b, nil
}

// JDK returns the first build of a feature version, preferably one with a compiler.
func (b *Bed) JDK(feature int) (jdk.Entry, bool) {
	var found jdk.Entry
	for _, e := range b.JDKs {
		if e.Feature == feature && (found.Name == "" || e.HasCompiler && !found.HasCompiler) {
			found = e
		}
	}
	return found, found.Name != ""
}

// Workloads returns the workloads that run on a JDK, by name.
func (b *Bed) Workloads(on jdk.Entry) ([]workloads.Entry, error) {
	all, err := b.workloads.List()
	if err != nil {
		return nil, fmt.Errorf("list the catalogue's workloads: %w", err)
	}
	var fit []workloads.Entry
	for _, w := range all {
		if w.Harness == workloads.HarnessPlain && w.MinFeature <= on.Feature && (!w.NeedsCompiler || on.HasCompiler) {
			fit = append(fit, w)
		}
	}
	return fit, nil
}

// Runs reports whether a workload runs on a JDK.
func (b *Bed) Runs(on jdk.Entry, workload string) bool {
	fit, err := b.Workloads(on)
	return err == nil && slices.ContainsFunc(fit, func(w workloads.Entry) bool { return w.Name == workload })
}

// Flags returns the flags of a preset on a JDK; none if the name is empty or the JDK does not support the preset.
func (b *Bed) Flags(ctx context.Context, on jdk.Entry, name string) ([]string, error) {
	if name == "" {
		return nil, nil
	}
	p, ok := preset.Find(name)
	if !ok {
		return nil, fmt.Errorf("unknown preset %q; expected one of %s", name, strings.Join(preset.Names(), ", "))
	}
	has, err := b.jdks.Flags(ctx, on.Name)
	if err != nil {
		return nil, err
	}
	flags, err := p.Flags(on.Feature, has)
	if err != nil {
		return nil, nil //nolint:nilerr // the run has no flags
	}
	return flags, nil
}

// Workload returns the catalogue's entry of that name.
func (b *Bed) Workload(name string) (workloads.Entry, error) { return b.workloads.Get(name) }

// Spec is one run.
type Spec struct {
	JDK      jdk.Entry
	Workload string
	// Program, if given, replaces the workload: the JVM's last arguments, a class path, a main class and what that takes. The run
	// fails where its exit code is not 0. Workload then only names the run.
	Program []string
	// Arguments and Repetitions replace the workload's own if given.
	Arguments   []string
	Repetitions uint32
	Flags       []string
	// Agent holds the agent's options without its folder; nil runs without the agent.
	Agent *agent.Options
	// Faults to inject; nil loads no injector.
	Faults *faults.Plan
}

// Result of one run.
type Result struct {
	// Dir holds the output, and the agent's files in agent/.
	Dir string
	// Wall, CPU (user and system) and MaxRSS in bytes of the process.
	Wall, CPU time.Duration
	MaxRSS    uint64
	// Failure explains why the run failed, empty if the workload verified its result.
	Failure string
	// Stopped: it was ended because ctx ended.
	Stopped bool
	Status  agent.Status
	Faults  faults.Log
}

// Check returns the counts of one check.
func (r Result) Check(name string) agent.CheckCount {
	for _, c := range r.Status.Checks {
		if c.Name == name {
			return c
		}
	}
	return agent.CheckCount{Name: name}
}

// overdue is longer than any walk takes, and short enough for runs that are stopped after seconds.
const overdue = 2 * time.Second

// HungWalk describes a walk that did not return while the JVM ran, empty if there was none.
func (r Result) HungWalk() string {
	for _, t := range r.Status.Threads {
		if t.Phase.Walks() && r.Status.HeartbeatNanos > t.EnterNanos+uint64(overdue) {
			return fmt.Sprintf("hang in %s of thread %d at pc %#x", t.Phase, t.TID, t.PC)
		}
	}
	return ""
}

// ErrorFile returns the path of the JVM's error file (hs_err), empty if there is none.
func (r Result) ErrorFile() string {
	if files, err := filepath.Glob(filepath.Join(r.Dir, "hs_err*.log")); err == nil && len(files) > 0 {
		return files[0]
	}
	return ""
}

// Run runs one JVM to its end, or until ctx ends. watch, if given, is called ten times a second while the JVM runs; when it returns
// false the JVM is killed. The error reports a JVM that could not be run at all.
func (b *Bed) Run(ctx context.Context, s Spec, watch func(pid int, dir string) bool) (Result, error) {
	r := Result{Dir: filepath.Join(b.Dir, fmt.Sprintf("%04d-%s-%s", b.count.Add(1), s.JDK.Name,
		strings.ReplaceAll(s.Workload, "/", "-")))}
	scratch := filepath.Join(r.Dir, "tmp")
	out := filepath.Join(r.Dir, "agent")
	for _, dir := range []string{scratch, out} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return r, fmt.Errorf("make the run's folder: %w", err)
		}
	}
	args, manifest, err := b.command(ctx, s, scratch, out)
	if err != nil {
		return r, err
	}
	log := filepath.Join(r.Dir, "faults.bin")
	cmd := exec.CommandContext(ctx, filepath.Join(s.JDK.Path, "bin", "java"), args...)
	cmd.Dir = r.Dir
	cmd.Env = []string{
		"PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8", "TZ=UTC", "HOME=" + scratch, "TMPDIR=" + scratch,
		"JAVA_HOME=" + s.JDK.Path,
	}
	if s.Faults != nil {
		cmd.Env = append(cmd.Env, s.Faults.Environment(b.Injector, log)...)
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = 10 * time.Second
	start := time.Now()
	if err := tied.Start(cmd); err != nil {
		return r, fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	err = wait(cmd, r.Dir, watch)
	r.Wall = time.Since(start)
	r.Stopped = ctx.Err() != nil
	r.CPU = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		r.MaxRSS = uint64(usage.Maxrss) << 10
	}
	if err := errors.Join(os.WriteFile(filepath.Join(r.Dir, "stdout"), stdout.Bytes(), 0o644),
		os.WriteFile(filepath.Join(r.Dir, "stderr"), stderr.Bytes(), 0o644)); err != nil {
		return r, fmt.Errorf("store the run's output: %w", err)
	}
	if s.Program != nil {
		if err != nil {
			r.Failure = fmt.Sprintf("%s: %v", s.Workload, err)
		}
	} else if f := manifest.Judge(cmd.ProcessState.ExitCode(), stdout.Bytes(), stderr.Bytes()); f != nil {
		r.Failure = fmt.Sprintf("%s: %s (%v)", f.GetReason(), f.GetMessage(), err)
	}
	if s.Agent != nil {
		if r.Status, err = agent.ReadStatus(filepath.Join(out, "status.bin")); err != nil {
			r.Failure += fmt.Sprintf(" %v", err)
		}
	}
	if s.Faults != nil {
		if r.Faults, err = faults.Read(log); err != nil {
			return r, err
		}
	}
	return r, nil
}

func wait(cmd *exec.Cmd, dir string, watch func(int, string) bool) error {
	if watch == nil {
		return cmd.Wait()
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for watching := true; ; {
		select {
		case err := <-done:
			return err
		case <-tick.C:
			if watching && !watch(cmd.Process.Pid, dir) {
				watching = false
				_ = cmd.Process.Kill()
			}
		}
	}
}

func (b *Bed) command(ctx context.Context, s Spec, scratch, out string) ([]string, workloads.Manifest, error) {
	invocation, manifest, err := b.invocation(s, scratch)
	if err != nil {
		return nil, workloads.Manifest{}, err
	}
	args := append([]string{"-XX:+UnlockDiagnosticVMOptions", "-XX:+DebugNonSafepoints", "-XX:+PerfDisableSharedMem"},
		invocation.JVMFlags...)
	args = append(args, s.Flags...)
	if s.Agent != nil {
		java := filepath.Join(s.JDK.Path, "bin", "java")
		patch, err := agent.Prepare(ctx, b.Agent, java, s.JDK.Feature, filepath.Join(b.Dir, "patch"), s.JDK.Digest.String())
		if err != nil {
			return nil, workloads.Manifest{}, err
		}
		o := *s.Agent
		o.Out = out
		loaded, err := agent.JVMArgs(b.Agent, patch, s.JDK.Feature, o)
		if err != nil {
			return nil, workloads.Manifest{}, err
		}
		args = append(args, loaded...)
	}
	return append(args, invocation.Args...), manifest, nil
}

func (b *Bed) invocation(s Spec, scratch string) (workloads.Invocation, workloads.Manifest, error) {
	if s.Program != nil {
		return workloads.Invocation{Args: s.Program}, workloads.Manifest{}, nil
	}
	entry, err := b.workloads.Get(s.Workload)
	if err != nil {
		return workloads.Invocation{}, workloads.Manifest{}, err
	}
	manifest, err := workloads.Load(entry.Path)
	if err != nil {
		return workloads.Invocation{}, workloads.Manifest{}, err
	}
	invocation, err := manifest.Invocation(entry.Path, &misstepv1.Workload{
		Name: s.Workload, Arguments: s.Arguments, Repetitions: s.Repetitions,
	}, scratch)
	return invocation, manifest, err
}
