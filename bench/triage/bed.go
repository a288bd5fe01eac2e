package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"misstep/bench/trial"
	"misstep/deploy/jdk"
	"misstep/internal/faults"
	"misstep/internal/home"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
	"misstep/runner/jvm"
	"misstep/triage/triagetest"
	"misstep/workloads"
)

// throttled is a control group whose processes run for 1 ms of each second.
const throttled = "/sys/fs/cgroup/cpu/misstep-bench-triage"

// bed runs experiments with the runner's own executor.
type bed struct {
	*trial.Bed
	// programs is the folder of the compiled programs.
	programs string
	// starves reports whether processes can be starved on this machine.
	starves bool
}

func openBed(ctx context.Context, dir string) (*bed, error) {
	shared, err := trial.Open(".", dir)
	if err != nil {
		return nil, err
	}
	b := &bed{Bed: shared, programs: filepath.Join(dir, "programs")}
	compiler, ok := b.JDK(17)
	if !ok || !compiler.HasCompiler {
		return nil, errors.New("the catalogue has no JDK 17 with a compiler; fill it with make catalogue")
	}
	classes := filepath.Join(b.programs, "classes")
	if err := os.MkdirAll(classes, 0o755); err != nil {
		return nil, fmt.Errorf("make a folder for the planted programs: %w", err)
	}
	races, err := filepath.Glob("workloads/races/java/*.java")
	if err != nil {
		return nil, fmt.Errorf("find the planted races: %w", err)
	}
	const sources = "bench/triage/testdata/"
	include := filepath.Join(compiler.Path, "include")
	for _, command := range [][]string{
		append([]string{
			filepath.Join(compiler.Path, "bin", "javac"), "-nowarn", "-Xlint:-options", "-source", "8", "-target", "8", "-d",
			classes, sources + "Planted.java",
			"runner/jvm/testdata/Fixture.java", "agent/test/programs/Deoptimised.java",
		}, races...),
		{"cc", "-O1", "-fno-optimize-sibling-calls", "-shared", "-fPIC", "-pthread", "-I" + include, "-I" +
			filepath.Join(include, "linux"), "-o", filepath.Join(b.programs, "libplanted.so"), sources + "planted.c"},
		{"cc", "-O1", "-shared", "-fPIC", "-DSPIN", "-o", filepath.Join(b.programs, "libspin.so"), sources + "planted.c"},
	} {
		if out, err := exec.CommandContext(ctx, command[0], command[1:]...).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("compile the planted programs: %s: %w: %s", command[0], err, out)
		}
	}
	if err := os.MkdirAll(throttled, 0o755); err == nil {
		b.starves = true
		for file, value := range map[string]string{"cpu.cfs_period_us": "1000000", "cpu.cfs_quota_us": "1000"} {
			b.starves = os.WriteFile(filepath.Join(throttled, file), []byte(value), 0) == nil && b.starves
		}
	}
	return b, nil
}

func (b *bed) close() { _ = os.Remove(throttled) }

// fits lists the JDKs that an experiment can use, one build of each version.
func (b *bed) fits(e experiment) []jdk.Entry {
	var fit []jdk.Entry
	for _, j := range b.JDKs {
		same := func(o jdk.Entry) bool { return o.Version == j.Version }
		if j.Feature < e.oldest || e.newest != 0 && j.Feature > e.newest || slices.ContainsFunc(fit, same) {
			continue
		}
		runs := func(p program) bool { return strings.HasPrefix(p.name, own) || b.Runs(j, p.name) }
		if slices.ContainsFunc(e.programs, runs) {
			fit = append(fit, j)
		}
	}
	return fit
}

// run makes one trial and assigns parts of its outcome to labels; it returns at least one entry, without an outcome if the cause
// did not appear.
func (b *bed) run(ctx context.Context, e experiment, name string, j jdk.Entry, p program, seed uint64) ([]triagetest.Labelled,
	error,
) {
	dir := filepath.Join(b.Dir, "trial-"+strconv.FormatUint(seed, 10))
	defer os.RemoveAll(dir)
	javaHome, err := b.wrap(e, dir, j, uint32(seed&math.MaxUint32))
	if err != nil {
		return nil, err
	}
	unconfined, err := faults.Unconfined()
	if err != nil {
		return nil, err
	}
	executor := &jvm.Executor{
		Sandbox: unconfined,
		JDK:     func(context.Context, *misstepv1.Jdk) (string, int, error) { return javaHome, j.Feature, nil },
		Workload: func(context.Context, *misstepv1.Workload) (string, workloads.Manifest, error) {
			if main, ok := strings.CutPrefix(p.name, own); ok {
				return b.programs, workloads.Manifest{
					Name: strings.ToLower(main), Main: main, Classpath: []string{"classes"}, Repetitions: 1,
					Harness: workloads.HarnessPlain,
				}, nil
			}
			entry, err := b.Workload(p.name)
			if err != nil {
				return "", workloads.Manifest{}, err
			}
			m, err := workloads.Load(entry.Path)
			return entry.Path, m, err
		},
		Scratch: filepath.Join(dir, "trials"), PatchCache: filepath.Join(home.Dir(), "cache", "patch"),
	}
	recipe := b.recipe(e, j, p, seed)
	if len(e.checks) > 0 {
		executor.Agent = b.Agent
	}
	outcome, err := executor.Run(ctx, recipe, nil)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	l := triagetest.Labelled{Trial: name, Label: e.label, Kind: e.kind, JDK: j.Name, Workload: strings.TrimPrefix(p.name, own)}
	if err != nil {
		l.Infrastructure = err.Error()
		return []triagetest.Labelled{l}, nil
	}
	var log faults.Log
	if e.faults != nil {
		if log, err = faults.Read(filepath.Join(dir, faults.LogName)); err != nil {
			return nil, err
		}
	}
	return label(l, e, outcome, log), nil
}

func (b *bed) recipe(e experiment, j jdk.Entry, p program, seed uint64) *misstepv1.Recipe {
	wall := e.wall
	if wall == 0 {
		wall = time.Minute
	}
	r := &misstepv1.Recipe{
		Jdk: &misstepv1.Jdk{Name: j.Name, Digest: j.Digest.String()}, Workload: &misstepv1.Workload{Name: p.name, Repetitions: 1},
		JvmFlags: e.flags, Seed: seed,
		Limits: &misstepv1.Limits{Wall: durationpb.New(wall), MemoryMib: e.memoryMiB, OutputMib: e.outputMiB, DiskMib: e.diskMiB},
	}
	for _, a := range p.arguments {
		if a == library {
			a = filepath.Join(b.programs, "libplanted.so")
		}
		r.Workload.Arguments = append(r.Workload.Arguments, a)
	}
	for _, name := range recipe.Names(recipe.AgentChecks()) {
		if share := e.checks[name]; share > 0 {
			r.Checks = append(r.Checks, &misstepv1.Check{Name: name, Share: share})
		}
	}
	if len(e.checks) > 0 {
		r.Instrumentation = &misstepv1.Instrumentation{Ratio: 1, Include: e.include}
	}
	if e.interval > 0 {
		r.Sampling = &misstepv1.Sampling{Interval: durationpb.New(e.interval), Jitter: 0.5}
	}
	return r
}

// wrap returns the home of a JDK that starts with what the experiment needs.
func (b *bed) wrap(e experiment, dir string, j jdk.Entry, seed uint32) (string, error) {
	switch {
	case e.home != "":
		return e.home, nil
	case e.faults != nil:
		plan := *e.faults
		plan.Seed = seed
		return dir, faults.Wrap(dir, j.Path, b.Injector, plan)
	case e.shell != "":
		if err := os.MkdirAll(filepath.Join(dir, "bin"), 0o755); err != nil {
			return "", fmt.Errorf("wrap the JDK %s: %w", j.Name, err)
		}
		text := fmt.Sprintf("#!/bin/sh\nDIR='%s'\n%s\nexec '%s/bin/java' \"$@\"\n", b.programs, e.shell, j.Path)
		if err := os.WriteFile(filepath.Join(dir, "bin", "java"), []byte(text), 0o755); err != nil {
			return "", fmt.Errorf("wrap the JDK %s: %w", j.Name, err)
		}
		return dir, nil
	}
	return j.Path, nil
}
